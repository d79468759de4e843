//! An image in memory: eight bits each of red, green and blue.

use std::io::Cursor;

use jpeg_encoder::{Encoder as JpegEncoder, ImageBuffer, JpegColorType, SamplingFactor, rgb_to_ycbcr};
use png::{BitDepth, ColorType, Compression, Decoder as PngDecoder, Encoder as PngEncoder, Limits, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::error::DatasetError;
use crate::image_file::{JPEG, PNG};

/// As is usual for photographs.
const JPEG_QUALITY: u8 = 85;
/// The most pixels of a picture to read: a few bytes may declare any size.
const MOST_PIXELS: usize = 200_000_000;

/// The encoding in which an image is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Png,
    Jpeg,
}

impl Encoding {
    /// What precedes the base64.
    pub(super) const fn head(self) -> &'static str {
        match self {
            Self::Png => PNG.head,
            Self::Jpeg => JPEG.head,
        }
    }
}

/// The rows of an image for the JPEG encoder. The encoder's own function for slices is compiled in this crate, once for
/// each colour type: that was a tenth of this crate's code (`cargo llvm-lines -p aiperf-dataset`).
struct Rows<'a> {
    width: u16,
    height: u16,
    rgb: &'a [u8],
}

impl ImageBuffer for Rows<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        self.width
    }

    fn height(&self) -> u16 {
        self.height
    }

    fn fill_buffers(&self, row: u16, buffers: &mut [Vec<u8>; 4]) {
        let length = 3 * usize::from(self.width);
        let (pixels, _) = self.rgb[usize::from(row) * length..][..length].as_chunks();
        let [luma, blue, red, _] = buffers;
        for &[r, g, b] in pixels {
            let (y, cb, cr) = rgb_to_ycbcr(r, g, b);
            luma.push(y);
            blue.push(cb);
            red.push(cr);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) rgb: Vec<u8>,
}

impl Pixels {
    /// Encodes a picture, with compression.
    pub(super) fn picture_as(&self, encoding: Encoding) -> Result<Vec<u8>, DatasetError> {
        match encoding {
            Encoding::Png => self.png(Compression::Balanced),
            Encoding::Jpeg => self.jpeg(),
        }
    }

    /// Encodes noise, which cannot be compressed, so it does not try.
    pub(super) fn noise_as(&self, encoding: Encoding) -> Result<Vec<u8>, DatasetError> {
        match encoding {
            Encoding::Png => self.png(Compression::NoCompression),
            Encoding::Jpeg => self.jpeg(),
        }
    }

    fn png(&self, compression: Compression) -> Result<Vec<u8>, DatasetError> {
        let unmade = |error: png::EncodingError| self.unmade("PNG", &error.to_string());
        let mut bytes = Vec::with_capacity(self.rgb.len() + self.rgb.len() / 1000 + 1024);
        let mut encoder = PngEncoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(compression);
        let mut writer = encoder.write_header().map_err(unmade)?;
        writer.write_image_data(&self.rgb).map_err(unmade)?;
        writer.finish().map_err(unmade)?;
        Ok(bytes)
    }

    fn jpeg(&self) -> Result<Vec<u8>, DatasetError> {
        let side = |side: u32| u16::try_from(side).map_err(|_| self.unmade("JPEG", "a side is longer than 65535"));
        let mut bytes = Vec::with_capacity(self.rgb.len() * 3 / 4 + 1024);
        let mut encoder = JpegEncoder::new(&mut bytes, JPEG_QUALITY);
        encoder.set_sampling_factor(SamplingFactor::R_4_4_4);
        encoder
            .encode_image(Rows { width: side(self.width)?, height: side(self.height)?, rgb: &self.rgb })
            .map_err(|error| self.unmade("JPEG", &error.to_string()))?;
        Ok(bytes)
    }

    fn unmade(&self, format: &str, why: &str) -> DatasetError {
        DatasetError::MediaUnmade {
            what: format!("an image of {} x {} pixels as {format}", self.width, self.height),
            why: why.to_owned(),
        }
    }

    /// Decodes a PNG or JPEG, or returns why it is neither. Transparency is dropped.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        if PNG.begins(bytes) {
            read_png(bytes).map_err(|error| format!("is a PNG that cannot be read: {error}"))
        } else if JPEG.begins(bytes) {
            read_jpeg(bytes).map_err(|error| format!("is a JPEG that cannot be read: {error}"))
        } else {
            Err("is neither PNG nor JPEG".into())
        }
    }

    /// Resizes the image, by bicubic filters as wide as a pixel of the smaller size.
    pub(super) fn resized(&self, width: u32, height: u32) -> Self {
        if (width, height) == (self.width, self.height) {
            return self.clone();
        }
        let (from_width, rows) = (self.width as usize, self.height as usize);
        let columns = taps(self.width, width);
        // First the rows are resized, then the columns.
        let mut wide = vec![0.0f32; width as usize * rows * 3];
        for (from, to) in self.rgb.chunks_exact(from_width * 3).zip(wide.chunks_exact_mut(width as usize * 3)) {
            for (pixel, (first, weights)) in to.chunks_exact_mut(3).zip(&columns) {
                for (weight, from) in weights.iter().zip(from[first * 3..].chunks_exact(3)) {
                    for (to, from) in pixel.iter_mut().zip(from) {
                        *to += weight * f32::from(*from);
                    }
                }
            }
        }
        let row = width as usize * 3;
        let mut rgb = Vec::with_capacity(row * height as usize);
        let mut sum = vec![0.0f32; row];
        for (first, weights) in taps(self.height, height) {
            sum.fill(0.0);
            for (weight, from) in weights.iter().zip(wide[first * row..].chunks_exact(row)) {
                for (to, from) in sum.iter_mut().zip(from) {
                    *to += weight * from;
                }
            }
            rgb.extend(sum.iter().map(|value| (value + 0.5).clamp(0.0, 255.0) as u8));
        }
        Self { width, height, rgb }
    }
}

/// For each pixel of a side: the first source pixel that contributes to it, and the weights of that pixel and the
/// following ones.
fn taps(from: u32, to: u32) -> Vec<(usize, Vec<f32>)> {
    let scale = f64::from(from) / f64::from(to);
    let stretch = scale.max(1.0);
    let reach = 2.0 * stretch;
    let tap = |at: u32| {
        let centre = (f64::from(at) + 0.5) * scale;
        let first = (centre - reach).max(0.0) as usize;
        let end = ((centre + reach).ceil() as usize).min(from as usize);
        let weights: Vec<f64> = (first..end).map(|pixel| cubic((pixel as f64 + 0.5 - centre) / stretch)).collect();
        let sum: f64 = weights.iter().sum();
        (first, weights.iter().map(|weight| (weight / sum) as f32).collect())
    };
    (0..to).map(tap).collect()
}

/// Keys' cubic with a = -0.5.
fn cubic(x: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        (1.5 * x - 2.5) * x * x + 1.0
    } else if x < 2.0 {
        ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    } else {
        0.0
    }
}

fn check_size(width: usize, height: usize) -> Result<(), String> {
    if width.saturating_mul(height) <= MOST_PIXELS && width > 0 && height > 0 {
        return Ok(());
    }
    Err(format!("{width} x {height} pixels, where 1 to {MOST_PIXELS} are read"))
}

fn read_png(bytes: &[u8]) -> Result<Pixels, String> {
    let text = |error: png::DecodingError| error.to_string();
    let mut decoder = PngDecoder::new_with_limits(Cursor::new(bytes), Limits { bytes: MOST_PIXELS * 4 });
    decoder.set_transformations(Transformations::normalize_to_color8());
    let (width, height) = decoder.read_header_info().map_err(text)?.size();
    check_size(width as usize, height as usize)?;
    let mut reader = decoder.read_info().map_err(text)?;
    let size = reader.output_buffer_size().ok_or("it is too large")?;
    let mut samples = vec![0; size];
    let frame = reader.next_frame(&mut samples).map_err(text)?;
    samples.truncate(frame.buffer_size());
    let rgb = match frame.color_type {
        ColorType::Rgb => samples,
        ColorType::Rgba => samples.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
        ColorType::Grayscale => samples.iter().flat_map(|grey| [*grey; 3]).collect(),
        ColorType::GrayscaleAlpha => samples.chunks_exact(2).flat_map(|pixel| [pixel[0]; 3]).collect(),
        ColorType::Indexed => return Err("its palette is missing".into()),
    };
    whole(Pixels { width, height, rgb })
}

fn read_jpeg(bytes: &[u8]) -> Result<Pixels, String> {
    let text = |error: zune_jpeg::errors::DecodeErrors| format!("{error:?}");
    let options = DecoderOptions::new_safe()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_max_width(u16::MAX.into())
        .set_max_height(u16::MAX.into());
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(text)?;
    let info = decoder.info().ok_or("it has no header")?;
    check_size(info.width.into(), info.height.into())?;
    let rgb = decoder.decode().map_err(text)?;
    whole(Pixels { width: info.width.into(), height: info.height.into(), rgb })
}

/// The code after this relies on the number of samples that the size implies.
fn whole(pixels: Pixels) -> Result<Pixels, String> {
    let wanted = pixels.width as usize * pixels.height as usize * 3;
    if pixels.rgb.len() == wanted { Ok(pixels) } else { Err(format!("{} samples, not {wanted}", pixels.rgb.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image_file::ImageFile;
    use proptest::prelude::*;

    fn gradient(width: u32, height: u32) -> Pixels {
        let pixel = |at: u32| [(at % width * 255 / width) as u8, (at / width * 255 / height) as u8, 100];
        Pixels { width, height, rgb: (0..width * height).flat_map(pixel).collect() }
    }

    #[test]
    fn png_keeps_every_pixel_and_jpeg_nearly() {
        let picture = gradient(37, 21);
        for bytes in [picture.noise_as(Encoding::Png).unwrap(), picture.picture_as(Encoding::Png).unwrap()] {
            assert_eq!(Pixels::read(&bytes).unwrap(), picture);
        }
        let jpeg = Pixels::read(&picture.picture_as(Encoding::Jpeg).unwrap()).unwrap();
        assert_eq!((jpeg.width, jpeg.height), (37, 21));
        assert!(jpeg.rgb.iter().zip(&picture.rgb).all(|(a, b)| a.abs_diff(*b) < 24));
    }

    #[test]
    fn a_gradient_stays_one_in_any_size() {
        for (width, height) in [(1, 1), (10, 200), (300, 8), (64, 64)] {
            let resized = gradient(64, 64).resized(width, height);
            assert_eq!(resized.rgb.len(), (width * height * 3) as usize);
            let reds: Vec<u8> = resized.rgb.chunks_exact(3).take(width as usize).map(|pixel| pixel[0]).collect();
            assert!(reds.is_sorted(), "{reds:?}");
            assert!(resized.rgb.chunks_exact(3).all(|pixel| pixel[2] == 100));
        }
    }

    #[test]
    fn a_picture_that_declares_a_huge_size_is_refused() {
        let mut png = gradient(3, 3).noise_as(Encoding::Png).unwrap();
        png[16..24].copy_from_slice(&[0, 2, 0, 0, 0, 2, 0, 0]);
        assert!(Pixels::read(&png).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn broken_files_are_errors_and_never_panics(cut in 0usize..400, at in 0usize..400, byte: u8) {
            for encoding in [Encoding::Png, Encoding::Jpeg] {
                let mut bytes = gradient(9, 7).picture_as(encoding).unwrap();
                let at = at % bytes.len();
                bytes[at] = byte;
                let _ = Pixels::read(&bytes);
                bytes.truncate(cut);
                let _ = Pixels::read(&bytes);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = Pixels::read(&[PNG.start, &bytes].concat());
            let _ = Pixels::read(&[JPEG.start, &bytes].concat());
            prop_assert!(Pixels::read(&bytes).is_err() || ImageFile::of(&bytes).is_some());
        }
    }
}
