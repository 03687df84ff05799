"""Results for other tools: documents beside the tables, databases, Delta tables and MLflow."""
