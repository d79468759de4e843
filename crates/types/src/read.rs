//! One read from a connection, and how exactly it gives the instants of events.

use crate::{MonoNs, Nanos};

/// One read from the connection: 24 bytes, appended once a `recvmsg`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// When the last byte of this read arrived: the kernel's stamp where there is one, else when the read returned.
    pub at: MonoNs,
    /// From arrival to the read's return, in nanoseconds, saturating; `Read::NO_STAMP` when the kernel gave no stamp.
    pub lag: u32,
    pub len: u32,
    /// From when the socket was last known to be empty until `at`, in nanoseconds. Unless the read is full, each of its
    /// bytes arrived within this interval. `u32::MAX`: or earlier.
    pub width: u32,
    /// It filled the room that it had: the socket may hold more, and the stamp may be that of a later byte.
    pub is_full: bool,
    /// This process was busy or waited for a core when it should have read.
    pub is_late: bool,
    /// It holds bytes of another stream behind those of this exchange.
    pub is_shared: bool,
    /// It holds bytes of the framing behind those of the body, such as the end of the response or a part of the next
    /// chunk.
    pub is_followed: bool,
}

impl Read {
    /// The `lag` of a read without a kernel stamp.
    pub const NO_STAMP: u32 = u32::MAX;

    /// The longest time from arrival to return; `None` if no read has a stamp.
    pub fn longest_lag(reads: &[Self]) -> Option<Nanos> {
        // The mark of a read without a stamp becomes zero, so that there is nothing to branch on.
        let longest = reads.iter().map(|read| read.lag.wrapping_add(1)).max()?;
        longest.checked_sub(1).map(|lag| Nanos(u64::from(lag)))
    }

    /// Whether it returned later than this after the arrival of its last byte.
    pub fn was_read_late(&self, limit: Nanos) -> bool {
        self.lag != Self::NO_STAMP && u64::from(self.lag) > limit.0
    }

    /// Whether `at` is the instant at which its last byte arrived.
    pub fn is_exact(&self) -> bool {
        self.lag != Self::NO_STAMP && !self.is_full && !self.is_shared && !self.is_followed
    }

    /// How much earlier than `at` a byte of it may have arrived that answers a request sent at this instant.
    pub fn width_after(&self, sent: MonoNs) -> Nanos {
        let after_sent = self.at.since(sent);
        if self.width == u32::MAX { after_sent } else { after_sent.min(Nanos(u64::from(self.width))) }
    }

    /// What is not known of an event that it completed, if its instant may be earlier.
    pub fn uncertainty(&self, sent: MonoNs) -> Uncertainty {
        let (width, is_unstamped) = (self.width_after(sent), self.lag == Self::NO_STAMP);
        Uncertainty { width, is_late: self.is_late, is_unstamped }
    }
}

/// A read whose instant is exact.
impl From<MonoNs> for Read {
    fn from(at: MonoNs) -> Self {
        Self { at, ..Self::default() }
    }
}

impl From<&Self> for Read {
    fn from(read: &Self) -> Self {
        *read
    }
}

/// How much earlier than reported an event may have happened, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncertainty {
    /// Zero for an event whose instant is exact.
    pub width: Nanos,
    /// This process read late.
    pub is_late: bool,
    /// The kernel gave no stamp.
    pub is_unstamped: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_without_a_stamp_have_no_lag() {
        let longest = |lags: &[u32]| {
            let reads: Vec<Read> = lags.iter().map(|&lag| Read { lag, ..Read::default() }).collect();
            Read::longest_lag(&reads)
        };
        assert_eq!(longest(&[]), None);
        assert_eq!(longest(&[Read::NO_STAMP, Read::NO_STAMP]), None);
        assert_eq!(longest(&[0]), Some(Nanos(0)));
        assert_eq!(longest(&[7, Read::NO_STAMP, 3]), Some(Nanos(7)));
        assert_eq!(longest(&[Read::NO_STAMP - 1, 3]), Some(Nanos(4_294_967_294)));
    }
}
