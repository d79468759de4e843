//! Vendors of GPUs.

/// Who made a GPU, in the order of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GpuVendor {
    Amd,
    #[default]
    Nvidia,
}

impl GpuVendor {
    /// In the order of output.
    pub const ALL: [Self; 2] = [Self::Amd, Self::Nvidia];

    /// Its name in files, which is also the prefix of its metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Amd => "amd",
            Self::Nvidia => "nvidia",
        }
    }
}
