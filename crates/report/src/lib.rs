//! Writes it down: JSON, CSV, JSONL and the console tables
