//! Conversion of values to text and bytes: JSON, CSV, numbers, points in time, and column chunks of Parquet files.

pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod number;
pub(crate) mod parquet_pages;
pub(crate) mod stamp;
