//! Files that tests open by their names.

use crate::Found::Named;

kinds! {
    /// A small model: its tokenizer and its template.
    TINY_MODEL = ["tiny-model"], ["aiperf", "engine", "tokenize"], Named;
    /// Rows of public datasets.
    PUBLIC_ROWS = ["public"], ["aiperf"], Named;
    /// Texts, and their ids by the vocabulary of Kimi.
    KIMI_IDS = ["encodings/kimi.json"], ["tokenize"], Named;
    /// Values of distributions and tests, from SciPy.
    SCIPY = ["scipy.json"], ["statistics"], Named;
    /// A message of OTLP, in bytes of the official definition.
    OTLP_BYTES = ["telemetry/otlp_capture.bin"], ["report"], Named;
}
