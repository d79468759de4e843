//! Solid bars.

/// A bar whose length is `share` of the columns, in steps of an eighth of a column.
pub(crate) fn blocks(share: f64, columns: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share.clamp(0.0, 1.0) * 8.0 * columns as f64) as usize).min(8 * columns);
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}
