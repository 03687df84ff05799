"""The stage of ordered metrics: rows by score, in memory, range by range or on a grid."""
