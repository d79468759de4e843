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

pub(crate) const GROUPS: &[(&str, &[Row])] = &[
    ("connections", connections::ROWS),
    ("heads", heads::ROWS),
    ("statuses", statuses::ROWS),
    ("bodies", bodies::ROWS),
    ("chunks", chunks::ROWS),
    ("streams", streams::ROWS),
    ("encodings", encodings::ROWS),
    ("protocols", protocols::ROWS),
];
