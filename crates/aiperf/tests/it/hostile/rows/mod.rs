//! The rows of the table, one file an area.

mod bodies;
mod chunks;
mod connections;
mod encodings;
mod heads;
mod protocols;
mod statuses;
mod streams;

use crate::hostile::table::Row;

pub(crate) const ROWS: &[&[Row]] = &[
    connections::ROWS,
    heads::ROWS,
    statuses::ROWS,
    bodies::ROWS,
    chunks::ROWS,
    streams::ROWS,
    encodings::ROWS,
    protocols::ROWS,
];
