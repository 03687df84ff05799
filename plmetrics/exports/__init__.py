"""Results for other programs: documents, databases, Delta tables, MLflow, and messages."""
