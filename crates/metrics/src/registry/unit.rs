//! Units, and the factor between two units of one family.

macro_rules! units {
    ($($(#[$doc:meta])* $unit:ident = $name:literal;)*) => {
        /// The unit of a metric, stored or displayed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Unit { $($(#[$doc])* $unit,)* }

        impl Unit {
            /// The name in exports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$unit => $name,)* }
            }
        }
    };
}

units! {
    Ns = "ns";
    Ms = "ms";
    Sec = "sec";
    Bytes = "B";
    /// 1024 bytes.
    KiloBytes = "KB";
    /// 1024 KB.
    MegaBytes = "MB";
    Tokens = "tokens";
    Requests = "requests";
    Images = "images";
    Count = "count";
    Ratio = "ratio";
    /// Hundredths.
    Percent = "%";
    RequestsPerSec = "requests/sec";
    TokensPerSec = "tokens/sec";
    /// Tokens per second, as one user sees it.
    TokensPerSecPerUser = "tokens/sec/user";
    ImagesPerSec = "images/sec";
    MsPerImage = "ms/image";
    Watts = "W";
    Joules = "J";
    TokensPerJoule = "tokens/J";
    JoulesPerUser = "joules/user";
    JoulesPerRequest = "joules/request";
    MillijoulesPerToken = "mJ/token";
    JouleSeconds = "J*s";
    RequestsPerSecPerWatt = "requests/sec/W";
    TokensPerSecPerWatt = "tokens/sec/W";
    GoodRequestsPerSecPerWatt = "good-req/s/W";
}

impl Unit {
    /// This unit expressed in `other`; 1 for units that do not convert.
    pub fn factor_to(self, other: Self) -> f64 {
        match (self.per_second(), other.per_second(), self.bytes(), other.bytes()) {
            (Some(from), Some(to), ..) => to / from,
            (_, _, Some(from), Some(to)) => from / to,
            _ => 1.0,
        }
    }

    const fn per_second(self) -> Option<f64> {
        match self {
            Self::Ns => Some(1e9),
            Self::Ms => Some(1e3),
            Self::Sec => Some(1.0),
            _ => None,
        }
    }

    const fn bytes(self) -> Option<f64> {
        match self {
            Self::Bytes => Some(1.0),
            Self::KiloBytes => Some(1024.0),
            Self::MegaBytes => Some(1_048_576.0),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_convert_and_everything_else_stays() {
        assert_eq!(Unit::Ns.factor_to(Unit::Ms), 1000.0 / 1e9);
        assert_eq!(Unit::Sec.factor_to(Unit::Ms), 1000.0);
        assert_eq!(Unit::Bytes.factor_to(Unit::KiloBytes), 1.0 / 1024.0);
        assert_eq!(Unit::Tokens.factor_to(Unit::Tokens), 1.0);
    }
}
