//! Pictures without files: four scenes, drawn the same every time. As in photographs, finer detail is weaker, so they
//! compress like photographs.

use aiperf_plan::draw::mix;

use super::pixels::Pixels;

pub(super) const COUNT: usize = 4;
const WIDTH: u32 = 768;
const HEIGHT: u32 = 512;
/// Each octave is half as strong as the one before and twice as fine.
const OCTAVES: u32 = 6;

type Colour = [f32; 3];

/// Draws one of the scenes.
pub(super) fn draw(scene: usize) -> Pixels {
    let paint = [clouds, hills, marble, meadow][scene % COUNT];
    let mut rgb = Vec::with_capacity((WIDTH * HEIGHT * 3) as usize);
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            // Both coordinates are relative to the height, so that nothing is stretched.
            let colour = paint(x as f32 / HEIGHT as f32, y as f32 / HEIGHT as f32);
            rgb.extend(colour.map(|part| part.clamp(0.0, 255.0) as u8));
        }
    }
    Pixels { width: WIDTH, height: HEIGHT, rgb }
}

fn clouds(x: f32, y: f32) -> Colour {
    let sky = blend([60.0, 110.0, 200.0], [170.0, 205.0, 240.0], y);
    let cover = ((rough(x * 3.0, y * 5.0, 1) - 0.45) * 4.0).clamp(0.0, 1.0);
    let shade = rough(x * 3.0 + 0.1, y * 5.0 + 0.2, 1) * 90.0;
    blend(sky, [255.0 - shade * 0.6, 255.0 - shade * 0.5, 255.0 - shade * 0.4], cover)
}

fn hills(x: f32, y: f32) -> Colour {
    let ridge = |hill: u32| 0.25 + 0.16 * hill as f32 + 0.25 * (rough(x * 2.0, 7.0 * hill as f32, 2) - 0.5);
    match (0..4).rev().find(|hill| y > ridge(*hill)) {
        None => blend([250.0, 190.0, 130.0], [120.0, 150.0, 210.0], (0.5 - y).max(0.0) * 2.0),
        Some(hill) => {
            let near = hill as f32 / 3.0;
            let grain = (rough(x * 20.0, y * 20.0, 3) - 0.5) * 90.0 * near;
            let [r, g, b] = blend([140.0, 150.0, 170.0], [40.0, 70.0, 30.0], near);
            [r + grain, g + grain, b + grain * 0.5]
        }
    }
}

fn marble(x: f32, y: f32) -> Colour {
    let vein = (x * 9.0 + y * 4.0 + 7.0 * rough(x * 2.0, y * 2.0, 4)).sin().abs().sqrt();
    let grain = (rough(x * 30.0, y * 30.0, 5) - 0.5) * 30.0;
    blend([90.0, 80.0, 85.0], [235.0, 228.0, 220.0], vein).map(|part| part + grain)
}

fn meadow(x: f32, y: f32) -> Colour {
    let blades = rough(x * 60.0, y * 12.0, 6);
    let grass = blend([30.0, 60.0, 20.0], [150.0, 190.0, 70.0], blades * 0.7 + rough(x, y, 7) * 0.3);
    let (column, row) = ((x * 24.0).floor(), (y * 24.0).floor());
    let seed = mix((column as u64) << 32 | row as u64 | 1 << 60);
    let offset = |bits: u64| 0.3 + 0.4 * (bits & 0xff) as f32 / 255.0;
    let (dx, dy) = (x * 24.0 - column - offset(seed), y * 24.0 - row - offset(seed >> 8));
    let is_flower = seed >> 16 & 3 == 0 && dx.hypot(dy) < 0.25;
    let petals = [[235.0, 70.0, 60.0], [250.0, 220.0, 60.0], [240.0, 240.0, 250.0], [150.0, 90.0, 210.0]];
    if is_flower { petals[(seed >> 18 & 3) as usize].map(|part: f32| part * (0.7 + 0.3 * blades)) } else { grass }
}

fn blend(from: Colour, to: Colour, share: f32) -> Colour {
    std::array::from_fn(|part| from[part] + (to[part] - from[part]) * share)
}

/// Sums of smooth noise of increasing fineness: 0 to 1, mostly around a half.
fn rough(x: f32, y: f32, seed: u64) -> f32 {
    let (mut sum, mut strength, mut scale) = (0.0, 0.5, 1.0);
    for octave in 0..OCTAVES {
        sum += strength * smooth(x * scale, y * scale, seed << 8 | u64::from(octave));
        strength /= 2.0;
        scale *= 2.0;
    }
    sum
}

/// Random values on a grid, interpolated.
fn smooth(x: f32, y: f32, seed: u64) -> f32 {
    let (column, row) = (x.floor(), y.floor());
    let value = |column: f32, row: f32| {
        let at = (column as i64 as u64) << 40 ^ (row as i64 as u64) << 16 ^ seed;
        (mix(at.wrapping_add(1)) >> 40) as f32 / (1u64 << 24) as f32
    };
    let ease = |part: f32| part * part * (3.0 - 2.0 * part);
    let (across, down) = (ease(x - column), ease(y - row));
    let between = |row: f32| {
        let (left, right) = (value(column, row), value(column + 1.0, row));
        left + (right - left) * across
    };
    let (above, below) = (between(row), between(row + 1.0));
    above + (below - above) * down
}
