"""What a run tells other programs: documents, databases, Delta tables, MLflow, and messages."""
