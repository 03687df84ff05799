"""Charts of result tables: declarative specifications, rendered to SVG and PNG without a browser or network."""
