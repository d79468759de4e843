//! The frames of a video.

use std::f64::consts::TAU;

use aiperf_plan::dataset::media::{VideoMaking, VideoPattern};
use rand::Rng;

type Colour = [u8; 3];

const RED: Colour = [255, 0, 0];
const GREEN: Colour = [0, 255, 0];
const BLUE: Colour = [0, 0, 255];
const WHITE: Colour = [255, 255, 255];
const BACKGROUND: u8 = 32;
const GRID: Colour = [64, 64, 64];
/// Pixels between two lines of the grid.
const GRID_STEP: u32 = 32;
/// The position of the frame number, and the pixels per dot of its letters.
const TEXT_AT: i64 = 10;
const DOT: i64 = 2;

/// Draws frames into one buffer.
pub(super) struct Frames {
    pattern: VideoPattern,
    count: f64,
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl Frames {
    pub(super) fn new(plan: &VideoMaking) -> Self {
        let rgb = vec![0; plan.width as usize * plan.height as usize * 3];
        let count = plan.frames().max(1) as f64;
        Self { pattern: plan.shows, count, width: plan.width, height: plan.height, rgb }
    }

    /// The samples of a frame.
    pub(super) fn draw(&mut self, frame: u64, noise: &mut impl Rng) -> &[u8] {
        match self.pattern {
            VideoPattern::MovingShapes => self.moving_shapes(frame as f64),
            VideoPattern::GridClock => self.grid_clock(frame),
            VideoPattern::Noise => noise.fill_bytes(&mut self.rgb),
        }
        &self.rgb
    }

    /// A red circle moves right, a green square down, a blue circle up and left. What leaves on one side returns on the
    /// other.
    fn moving_shapes(&mut self, frame: f64) {
        let (w, h) = (f64::from(self.width), f64::from(self.height));
        let moved = frame / self.count;
        self.rgb.fill(0);
        self.disc((moved * 2.0 * w).rem_euclid(w), h / 2.0, 15.0, RED);
        let (x, y) = (w / 2.0, (moved * 2.0 * h).rem_euclid(h));
        self.fill_box(x - 12.5, y - 12.5, x + 12.5, y + 12.5, GREEN);
        self.disc((w - moved * 1.5 * w).rem_euclid(w), (h - moved * 1.5 * h).rem_euclid(h), 10.0, BLUE);
    }

    /// A clock on a grid, whose slow hand turns once, and the frame number.
    fn grid_clock(&mut self, frame: u64) {
        self.rgb.fill(BACKGROUND);
        for y in 0..self.height {
            for x in 0..self.width {
                if x % GRID_STEP == 0 || y % GRID_STEP == 0 {
                    self.dot(i64::from(x), i64::from(y), GRID);
                }
            }
        }
        let (x, y) = (f64::from(self.width) / 2.0, f64::from(self.height) / 2.0);
        let radius = f64::from(self.width.min(self.height)) / 4.0;
        let turn = frame as f64 / self.count;
        self.hand(x, y, turn, radius * 0.6, RED);
        self.hand(x, y, turn * 12.0, radius, WHITE);
        self.text(&format!("Frame {frame}"));
    }

    fn hand(&mut self, x: f64, y: f64, turns: f64, length: f64, colour: Colour) {
        let (sin, cos) = (turns * TAU).sin_cos();
        for step in 0..=(length * 2.0) as u32 {
            let along = f64::from(step) / 2.0;
            self.disc(x + sin * along, y - cos * along, 1.5, colour);
        }
    }

    fn text(&mut self, text: &str) {
        for (place, letter) in text.chars().enumerate() {
            let left = TEXT_AT + place as i64 * 6 * DOT;
            for (row, dots) in (0..).zip(letter_dots(letter)) {
                for column in (0..5).filter(|column| dots >> (4 - column) & 1 == 1) {
                    let (x, y) = ((left + column * DOT) as f64, (TEXT_AT + row * DOT) as f64);
                    self.fill_box(x, y, x + DOT as f64, y + DOT as f64, WHITE);
                }
            }
        }
    }

    fn disc(&mut self, x: f64, y: f64, radius: f64, colour: Colour) {
        for row in (y - radius).floor() as i64..=(y + radius).ceil() as i64 {
            for column in (x - radius).floor() as i64..=(x + radius).ceil() as i64 {
                if (row as f64 + 0.5 - y).hypot(column as f64 + 0.5 - x) <= radius {
                    self.dot(column, row, colour);
                }
            }
        }
    }

    fn fill_box(&mut self, left: f64, top: f64, right: f64, bottom: f64, colour: Colour) {
        for row in top.round() as i64..bottom.round() as i64 {
            for column in left.round() as i64..right.round() as i64 {
                self.dot(column, row, colour);
            }
        }
    }

    /// Sets one pixel; pixels outside the frame are ignored.
    fn dot(&mut self, x: i64, y: i64, colour: Colour) {
        if (0..i64::from(self.width)).contains(&x) && (0..i64::from(self.height)).contains(&y) {
            let at = (y as usize * self.width as usize + x as usize) * 3;
            self.rgb[at..at + 3].copy_from_slice(&colour);
        }
    }
}

/// Seven rows of five dots; the leftmost is the highest of five bits.
fn letter_dots(letter: char) -> [u8; 7] {
    match letter {
        'F' => [0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x10],
        'r' => [0x00, 0x00, 0x16, 0x19, 0x10, 0x10, 0x10],
        'a' => [0x00, 0x00, 0x0e, 0x01, 0x0f, 0x11, 0x0f],
        'm' => [0x00, 0x00, 0x1a, 0x15, 0x15, 0x15, 0x15],
        'e' => [0x00, 0x00, 0x0e, 0x11, 0x1f, 0x10, 0x0e],
        '0' => [0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e],
        '1' => [0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e],
        '2' => [0x0e, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1f],
        '3' => [0x0e, 0x11, 0x01, 0x06, 0x01, 0x11, 0x0e],
        '4' => [0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02],
        '5' => [0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e],
        '6' => [0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e],
        '7' => [0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08],
        '8' => [0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e],
        '9' => [0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c],
        _ => [0; 7],
    }
}
