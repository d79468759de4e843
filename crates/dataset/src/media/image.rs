//! Images of noise, or of pictures, in any size.

use aiperf_plan::Draws;
use aiperf_plan::dataset::media::{ImageFormat, ImageMaking, ImageSource};
use aiperf_plan::draw::Purpose;
use rand::{Rng, RngExt};

use super::pictures::Pictures;
use super::pixels::{Encoding, Pixels};
use super::{TurnNumber, encoded};
use crate::error::DatasetError;
use crate::length;
use crate::source::Making;

/// The longest side that JPEG allows.
const LONGEST_SIDE: usize = u16::MAX as usize;

#[derive(Debug)]
pub(super) struct ImageMaker {
    plan: ImageMaking,
    pictures: Option<Pictures>,
    sizes: Purpose,
    noise: Purpose,
}

impl ImageMaker {
    pub(super) fn new(plan: &ImageMaking, making: Making<'_>) -> Result<Self, DatasetError> {
        let draws: &Draws = making.draws;
        let one_size = plan.width.is_fixed() && plan.height.is_fixed();
        let pictures = match &plan.source {
            ImageSource::Noise => None,
            ImageSource::Assets(order) => Some(Pictures::drawn(*order, draws, one_size)),
            ImageSource::Folder(folder, order) => {
                Some(Pictures::of_folder(folder, *order, draws, one_size, making.room)?)
            }
        };
        let (sizes, noise) = (draws.purpose("dataset.image.size"), draws.purpose("dataset.image.noise"));
        Ok(Self { plan: plan.clone(), pictures, sizes, noise })
    }

    pub(super) fn note(&self) -> Option<String> {
        self.pictures.as_ref().and_then(Pictures::note)
    }

    /// The images of a turn, as data URIs.
    pub(super) fn make(&self, number: TurnNumber) -> Result<Vec<String>, DatasetError> {
        let (mut sizes, mut noise) = (self.sizes.at(number.draws), self.noise.at(number.draws));
        let batch = u64::from(self.plan.batch);
        let make = |nth| {
            let width = length::draw(&self.plan.width, &mut sizes).min(LONGEST_SIDE) as u32;
            let height = length::draw(&self.plan.height, &mut sizes).min(LONGEST_SIDE) as u32;
            let encoding = match self.plan.format {
                ImageFormat::Png => Encoding::Png,
                ImageFormat::Jpeg => Encoding::Jpeg,
                ImageFormat::Random if sizes.random() => Encoding::Png,
                ImageFormat::Random => Encoding::Jpeg,
            };
            match &self.pictures {
                Some(pictures) => pictures.encoded(number.before * batch + nth, width, height, encoding),
                None => {
                    let mut rgb = vec![0; width as usize * height as usize * 3];
                    noise.fill_bytes(&mut rgb);
                    Ok(encoded(encoding.head(), &Pixels { width, height, rgb }.noise_as(encoding)?))
                }
            }
        };
        (0..batch).map(make).collect()
    }
}
