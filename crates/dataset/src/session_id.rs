//! Ids for sessions that have none.

use aiperf_plan::Draws;
use aiperf_plan::draw::Purpose;

/// Counted if there is a seed, otherwise as unique as a UUIDv4.
#[derive(Debug)]
pub(crate) struct SessionIds {
    seeded: bool,
    ids: Purpose,
}

impl SessionIds {
    pub(crate) fn new(draws: &Draws) -> Self {
        Self { seeded: draws.is_seeded(), ids: draws.purpose("dataset.session_id") }
    }

    pub(crate) fn id(&self, index: u64) -> String {
        if self.seeded {
            return format!("session_{index:06}");
        }
        let version_and_variant = 0x4000_8000_0000_0000_0000_u128;
        let free = !0xf000_c000_0000_0000_0000_u128;
        let hex = format!("{:032x}", self.ids.bits128(index) & free | version_and_variant);
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }
}
