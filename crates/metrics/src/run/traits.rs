//! The properties of a run that are known before it starts.

use crate::registry::flags::Flags;
use crate::registry::metric::Metric;
use aiperf_types::{EndpointKind, Slo, Thresholds};

/// The properties that decide which metrics a run has.
#[derive(Clone, Debug)]
pub struct RunTraits {
    pub endpoint: EndpointKind,
    pub streaming: bool,
    /// Token counts are the server's, so comparing them with the server's is pointless.
    pub server_token_count: bool,
    /// Service level objectives, thresholds in display units.
    pub slos: Vec<Slo>,
    /// A profiling phase replays a schedule.
    pub fixed_schedule: bool,
    /// A profiling phase has a schedule of its own: requests are due at instants, not when a slot comes free.
    pub open_loop: bool,
    pub accuracy: bool,
    /// Keep internal metrics in exports.
    pub show_internal: bool,
    /// Compute and keep experimental metrics.
    pub show_experimental: bool,
    /// Limits of the deviation counts.
    pub thresholds: Thresholds,
}

impl RunTraits {
    /// A run with default settings.
    pub fn new(endpoint: EndpointKind, streaming: bool) -> Self {
        Self {
            endpoint,
            streaming,
            server_token_count: false,
            slos: Vec::new(),
            fixed_schedule: false,
            open_loop: false,
            accuracy: false,
            show_internal: false,
            show_experimental: false,
            thresholds: Thresholds::default(),
        }
    }

    /// Whether such a run has a metric.
    pub fn has(&self, metric: &Metric) -> bool {
        self.lacks(metric).is_none()
    }

    /// The first condition of a metric that such a run does not meet.
    pub(crate) fn lacks(&self, metric: &Metric) -> Option<Flags> {
        let endpoint = self.endpoint.traits();
        [
            (Flags::STREAMING_ONLY, self.streaming),
            (Flags::PRODUCES_TOKENS_ONLY, endpoint.produces_tokens),
            (Flags::OUTPUT_LENGTH_ONLY, endpoint.produces_tokens || self.has_empty_output()),
            (Flags::TOKENIZES_INPUT_ONLY, endpoint.tokenizes_input),
            (Flags::SUPPORTS_AUDIO_ONLY, endpoint.accepts_audio),
            (Flags::SUPPORTS_IMAGE_ONLY, endpoint.accepts_images || endpoint.produces_images),
            (Flags::PRODUCES_VIDEO_ONLY, endpoint.produces_videos),
            (Flags::USAGE_DIFF_ONLY, !self.server_token_count),
            (Flags::EXPERIMENTAL, self.show_experimental),
            (Flags::FIXED_SCHEDULE_ONLY, self.fixed_schedule),
            (Flags::OPEN_LOOP_ONLY, self.open_loop),
            (Flags::GOODPUT, !self.slos.is_empty()),
            (Flags::DISABLE_ON_ACCURACY, !self.accuracy),
        ]
        .into_iter()
        .find(|(flag, fulfilled)| metric.flags.has(*flag) && !fulfilled)
        .map(|(flag, _)| flag)
    }

    /// Whether responses count as 0 tokens. This does not apply to the server's counts.
    pub(crate) fn has_empty_output(&self) -> bool {
        self.endpoint.traits().has_empty_output() && !self.server_token_count
    }

    /// Whether a metric of the run may be exported.
    pub fn exports(&self, metric: &Metric) -> bool {
        self.show_internal || !metric.flags.has(Flags::INTERNAL)
    }
}
