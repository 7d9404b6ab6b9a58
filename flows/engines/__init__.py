"""On what windows are computed: threads or clusters, how many at once, in which batches."""
