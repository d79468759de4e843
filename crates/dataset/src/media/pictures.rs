//! Pictures that images are made of: files of a folder, or scenes drawn without files.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aiperf_plan::Draws;
use aiperf_plan::dataset::media::PictureOrder;
use aiperf_plan::draw::Purpose;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::encoded;
use super::pixels::{Encoding, Pixels};
use super::scenes;
use crate::error::DatasetError;
use crate::in_order::{cores, in_order};
use crate::source::LARGEST_REQUEST;

/// Endings of picture files that are read.
const READ: &[&str] = &["png", "jpg", "jpeg", "jpe", "jfif"];
/// Endings of picture files that are not supported.
const UNREAD: &[&str] = &["gif", "webp", "bmp", "tif", "tiff", "avif", "heic", "jp2", "ppm", "ico"];
/// Up to this many pictures are stored encoded, if all images have one size. With more pictures, none is.
const MOST_KEPT: usize = 64;

#[derive(Debug)]
pub(super) struct Pictures {
    pictures: Vec<Picture>,
    order: PictureOrder,
    picks: Purpose,
    /// Encoded pictures, each as PNG and as JPEG, if all images have one size.
    kept: Option<Vec<[OnceLock<String>; 2]>>,
    note: Option<String>,
}

#[derive(Debug)]
enum Picture {
    Scene(usize, OnceLock<Pixels>),
    File { path: PathBuf, bytes: Vec<u8> },
}

impl Pictures {
    /// The scenes, which need no file.
    pub(super) fn drawn(order: PictureOrder, draws: &Draws, one_size: bool) -> Self {
        let scenes = (0..scenes::COUNT).map(|scene| Picture::Scene(scene, OnceLock::new())).collect();
        Self::new(scenes, order, draws, one_size, None)
    }

    /// Reads the pictures of a folder, in the order of their names; subfolders are ignored.
    pub(super) fn of_folder(
        folder: &Path,
        order: PictureOrder,
        draws: &Draws,
        one_size: bool,
        room: Option<u64>,
    ) -> Result<Self, DatasetError> {
        let fault = |why: String| {
            let way_out = "try: --image-source with a folder of PNG and JPEG files, or --image-source assets";
            DatasetError::of_file(folder, format!("{why}\n  {way_out}"))
        };
        let metadata = folder.metadata().map_err(|error| fault(format!("no folder of images: {error}")))?;
        if !metadata.is_dir() {
            return Err(fault("is no folder, and images are taken from the files of one".into()));
        }
        let listed = folder.read_dir().and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let listed = listed.map_err(|error| fault(format!("cannot be listed: {error}")))?;
        let mut paths: Vec<PathBuf> = listed.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        let ends = |path: &Path, endings: &[&str]| {
            let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            endings.contains(&ending.as_str()) && !path.is_dir()
        };
        let left_out: Vec<&PathBuf> = paths.iter().filter(|path| ends(path, UNREAD)).collect();
        let used: Vec<&PathBuf> = paths.iter().filter(|path| ends(path, READ)).collect();
        let left = AtomicU64::new(room.unwrap_or(u64::MAX));
        let pictures = in_order(cores(), used.len(), |which| {
            let picture = Picture::read(used[which])?;
            match left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(picture.bytes())) {
                Ok(_) => Ok(picture),
                Err(_) => Err(fault(format!(
                    "has images of more than {} bytes, and they are kept in memory",
                    room.unwrap_or_default()
                ))),
            }
        })?;
        if pictures.is_empty() {
            return Err(fault(match left_out.first() {
                None => "has no image".into(),
                Some(first) => format!("has images, as in {}, but neither PNG nor JPEG", name(first)),
            }));
        }
        let note = left_out.first().map(|first| {
            let count = left_out.len();
            format!("{}: {count} images are left out, as in {}: PNG and JPEG are read", folder.display(), name(first))
        });
        Ok(Self::new(pictures, order, draws, one_size, note))
    }

    fn new(pictures: Vec<Picture>, order: PictureOrder, draws: &Draws, one_size: bool, note: Option<String>) -> Self {
        let can_be_kept = one_size && pictures.len() <= MOST_KEPT;
        let kept = can_be_kept.then(|| pictures.iter().map(|_| Default::default()).collect());
        Self { pictures, order, picks: draws.purpose("dataset.image.picture"), kept, note }
    }

    pub(super) fn note(&self) -> Option<String> {
        self.note.clone()
    }

    /// The nth image of the dataset, as a data URI.
    pub(super) fn encoded(
        &self,
        nth: u64,
        width: u32,
        height: u32,
        encoding: Encoding,
    ) -> Result<String, DatasetError> {
        let which = self.pick(nth);
        let kept = self.kept.as_ref().map(|kept| &kept[which][encoding as usize]);
        if let Some(text) = kept.and_then(OnceLock::get) {
            return Ok(text.clone());
        }
        let pixels = self.pictures[which].resized(width, height)?;
        let text = encoded(encoding.head(), &pixels.picture_as(encoding)?);
        if let Some(kept) = kept {
            // Another thread may have encoded it already.
            let _ = kept.set(text.clone());
        }
        Ok(text)
    }

    fn pick(&self, nth: u64) -> usize {
        let count = self.pictures.len();
        match self.order {
            PictureOrder::Random => self.picks.at(nth).random_range(0..count),
            PictureOrder::Sequential => (nth % count as u64) as usize,
            PictureOrder::Shuffle => {
                let mut round: Vec<usize> = (0..count).collect();
                round.shuffle(&mut self.picks.at(nth / count as u64));
                round[(nth % count as u64) as usize]
            }
        }
    }
}

impl Picture {
    /// Decodes a file once, then keeps its bytes: a broken file must be found before the run, not during it.
    fn read(path: &Path) -> Result<Self, DatasetError> {
        let fault = |why: &str| {
            DatasetError::of_file(path, format!("{why}\n  try: leave it out of the folder of --image-source"))
        };
        let unread = |error: std::io::Error| fault(&format!("cannot be read: {error}"));
        let size = path.metadata().map_err(unread)?.len();
        if size == 0 {
            return Err(fault("is empty"));
        }
        if size > LARGEST_REQUEST {
            return Err(fault(&format!("has {size} bytes, and an image may have {LARGEST_REQUEST}")));
        }
        let bytes = std::fs::read(path).map_err(unread)?;
        Pixels::read(&bytes).map_err(|why| fault(&why))?;
        Ok(Self::File { path: path.to_owned(), bytes })
    }

    const fn bytes(&self) -> u64 {
        match self {
            Self::Scene(..) => 0,
            Self::File { bytes, .. } => bytes.len() as u64,
        }
    }

    fn resized(&self, width: u32, height: u32) -> Result<Pixels, DatasetError> {
        match self {
            Self::Scene(which, drawn) => Ok(drawn.get_or_init(|| scenes::draw(*which)).resized(width, height)),
            Self::File { path, bytes } => {
                let pixels = Pixels::read(bytes).map_err(|why| DatasetError::of_file(path, why))?;
                Ok(pixels.resized(width, height))
            }
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
