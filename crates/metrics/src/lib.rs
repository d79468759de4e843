//! What an exchange meant: record metrics, run statistics and the metric registry
