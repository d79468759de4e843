//! The changes that a request makes at an instant, and the levels of all requests together.

use crate::numbers::sum::Sum;

/// The levels of all curves at an instant. Rates are per second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Levels {
    pub(crate) in_flight: i64,
    /// Requests that stream and have no content yet.
    pub(crate) prefilling: i64,
    /// Requests that have content.
    pub(crate) decoding: i64,
    /// Tokens read.
    pub(crate) prefill: Sum,
    /// Tokens produced. Content that follows another within nanoseconds gives a rate so large that a plain sum would
    /// lose all others.
    pub(crate) decode: Sum,
    /// Tokens read or produced.
    pub(crate) total: Sum,
    /// Tokens of requests in flight.
    pub(crate) tokens: f64,
}

impl Levels {
    pub(crate) fn add_content(&mut self, content: &Content) {
        content.change_rate(&mut self.decode);
        self.tokens += content.tokens;
    }

    pub(crate) fn add_transition(&mut self, transition: &Transition) {
        self.in_flight += i64::from(transition.in_flight);
        self.prefilling += i64::from(transition.prefilling);
        self.decoding += i64::from(transition.decoding);
        add_for(&mut self.prefill, transition.prefill, self.prefilling);
        add_for(&mut self.decode, transition.decode, self.decoding);
        self.total.add(transition.prefill);
        add_for(&mut self.total, transition.even, self.in_flight);
        self.tokens = if self.in_flight == 0 { 0.0 } else { self.tokens + transition.tokens };
    }
}

/// Adds to a rate. With no users left, the rate is exactly zero.
fn add_for(rate: &mut Sum, height: f64, users: i64) {
    rate.add(height);
    if users == 0 {
        *rate = Sum::default();
    }
}

/// The change made by content after the first: most changes are of this kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    decode: f64,
    /// The rounding error of `decode`.
    decode_rest: f64,
    pub(crate) tokens: f64,
}

impl Content {
    /// A change from one rate to another.
    #[inline]
    pub(crate) fn new(before: f64, after: f64, tokens: f64) -> Self {
        let decode = after - before;
        let less = decode - after;
        let decode_rest = (after - (decode - less)) - (before + less);
        Self { decode, decode_rest, tokens }
    }

    /// Subtracts the old rate from a sum of rates, and adds the new one.
    #[inline]
    pub(crate) fn change_rate(&self, rate: &mut Sum) {
        rate.add_with_rest(self.decode, self.decode_rest);
    }
}

/// The change made by the start, the first content or the end of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transition {
    pub(crate) in_flight: i8,
    pub(crate) prefilling: i8,
    pub(crate) decoding: i8,
    pub(crate) prefill: f64,
    pub(crate) decode: f64,
    /// Tokens produced, at an even pace.
    pub(crate) even: f64,
    pub(crate) tokens: f64,
}

impl Transition {
    /// Whether it is the end of a request.
    pub(crate) fn is_end(&self) -> bool {
        self.in_flight < 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rate_is_lost_beside_another() {
        let (mut rate, rates) = (Sum::default(), [0.0, 1e12, 0.1, 3.3e10, 1e-3, 0.0]);
        for pair in rates.windows(2) {
            Content::new(pair[0], pair[1], 0.0).change_rate(&mut rate);
            assert!((rate.value() - pair[1]).abs() <= pair[1] * 1e-15);
        }
    }
}
