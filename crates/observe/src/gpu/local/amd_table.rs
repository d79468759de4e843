//! `gpu_metrics`, the table that AMD's driver gives of a GPU: a header with its layout, then numbers. Offsets are
//! those of the kernel's `kgd_pp_interface.h`; a number with all bits set is one that the GPU does not have.

/// The values of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AmdTable {
    /// Of the hottest spot, in °C.
    pub hotspot: Option<f64>,
    /// In watts.
    pub power: Option<f64>,
    /// In megajoules.
    pub energy: Option<f64>,
    /// In percent: of the shaders, of the memory controller, of the video engines.
    pub gfx: Option<f64>,
    pub umc: Option<f64>,
    pub mm: Option<f64>,
    /// Whether anything holds its clocks down.
    pub is_throttled: Option<bool>,
}

/// 2^-16 J, which the driver rounds to 15.259 uJ, in megajoules.
const ENERGY_UNIT: f64 = 15.259e-12;
/// What comes before all layouts: size in two bytes, format, content.
const HEADER: usize = 4;

#[derive(Clone, Copy)]
enum Width {
    Two,
    Four,
    Eight,
}

use Width::{Eight, Four, Two};

type Field = Option<(usize, Width)>;

/// Where a layout has what.
#[derive(Clone, Copy)]
struct Layout {
    hotspot: Field,
    power: Field,
    energy: Field,
    gfx: Field,
    umc: Field,
    mm: Field,
    throttled: [Field; 2],
}

const fn at(offset: usize, width: Width) -> Field {
    Some((offset, width))
}

/// With a stamp before everything else, and four bytes of energy.
const V1_0: Layout = Layout {
    hotspot: at(18, Two),
    gfx: at(28, Two),
    umc: at(30, Two),
    mm: at(32, Two),
    power: at(34, Two),
    energy: at(36, Four),
    throttled: [at(68, Four), None],
};
const V1_1: Layout = Layout {
    hotspot: at(6, Two),
    gfx: at(16, Two),
    umc: at(18, Two),
    mm: at(20, Two),
    power: at(22, Two),
    energy: at(24, Eight),
    throttled: [at(68, Four), None],
};
const V1_3: Layout = Layout { throttled: [at(68, Four), at(112, Eight)], ..V1_1 };
/// Of accelerators: no edge, and four video engines that are not averaged.
const V1_4: Layout = Layout {
    hotspot: at(4, Two),
    power: at(10, Two),
    gfx: at(12, Two),
    umc: at(14, Two),
    mm: None,
    energy: at(24, Eight),
    throttled: [at(40, Four), None],
};
/// With 32 engines for pictures before the energy.
const V1_5: Layout = Layout { energy: at(88, Eight), throttled: [at(104, Four), None], ..V1_4 };
/// Engines are elsewhere, and throttling is counted instead of flagged.
const V1_6: Layout = Layout { energy: at(16, Eight), throttled: [None, None], ..V1_4 };
/// With the bandwidth of the memory before the energy.
const V1_7: Layout = Layout { energy: at(24, Eight), ..V1_6 };

/// Of a header's format and content.
fn layout(format: u8, content: u8) -> Option<Layout> {
    Some(match (format, content) {
        (1, 0) => V1_0,
        (1, 1 | 2) => V1_1,
        (1, 3) => V1_3,
        (1, 4) => V1_4,
        (1, 5) => V1_5,
        (1, 6) => V1_6,
        (1, 7 | 8) => V1_7,
        _ => return None,
    })
}

impl AmdTable {
    /// Reads a table; `None` where its layout is not known.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let [low, high, format, content] = *bytes.first_chunk::<HEADER>()?;
        let size = usize::from(u16::from_le_bytes([low, high]));
        let (bytes, layout) = (&bytes[..bytes.len().min(size)], layout(format, content)?);
        let number = |field: Field| {
            let (offset, width) = field?;
            number(bytes, offset, width)
        };
        let float = |field: Field| number(field).map(|value| value as f64);
        let throttled = layout.throttled.map(number);
        Some(Self {
            hotspot: float(layout.hotspot),
            power: float(layout.power),
            energy: float(layout.energy).map(|units| units * ENERGY_UNIT),
            gfx: float(layout.gfx),
            umc: float(layout.umc),
            mm: float(layout.mm),
            is_throttled: throttled.iter().flatten().copied().reduce(|one, other| one | other).map(|bits| bits != 0),
        })
    }
}

fn number(bytes: &[u8], offset: usize, width: Width) -> Option<u64> {
    let rest = bytes.get(offset..)?;
    match width {
        Two => rest.first_chunk().map(|two| u16::from_le_bytes(*two)).filter(|n| *n != u16::MAX).map(u64::from),
        Four => rest.first_chunk().map(|four| u32::from_le_bytes(*four)).filter(|n| *n != u32::MAX).map(u64::from),
        Eight => rest.first_chunk().map(|eight| u64::from_le_bytes(*eight)).filter(|n| *n != u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A table of this layout and size in which these bytes are set.
    fn table(content: u8, size: usize, numbers: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; size];
        bytes[..2].copy_from_slice(&u16::try_from(size).unwrap().to_le_bytes());
        bytes[2..4].copy_from_slice(&[1, content]);
        for (offset, number) in numbers {
            bytes[*offset..offset + number.len()].copy_from_slice(number);
        }
        bytes
    }

    #[test]
    fn each_layout_is_read_where_it_has_its_numbers() {
        let two = |number: u16| number.to_le_bytes();
        let energy = 65_536_000_u64.to_le_bytes();
        let joules = 65_536_000.0 * 15.259e-12;
        let discrete = table(
            3,
            120,
            &[
                (6, &two(70)),
                (16, &two(99)),
                (18, &two(40)),
                (20, &two(5)),
                (22, &two(300)),
                (24, &energy),
                (112, &[4]),
            ],
        );
        let read = AmdTable::read(&discrete).unwrap();
        let expected = AmdTable {
            hotspot: Some(70.0),
            power: Some(300.0),
            energy: Some(joules),
            gfx: Some(99.0),
            umc: Some(40.0),
            mm: Some(5.0),
            is_throttled: Some(true),
        };
        assert_eq!(read, expected);
        // Content, size, where the energy is, where the throttling.
        for (content, size, place, throttling) in [
            (4, 288, 24, Some(40)),
            (5, 360, 88, Some(104)),
            (6, 1664, 16, None),
            (7, 2208, 24, None),
            (8, 3360, 24, None),
        ] {
            let mut numbers: Vec<(usize, &[u8])> = vec![(place, &energy)];
            let (hotspot, power, gfx) = (two(61), two(750), two(88));
            numbers.extend([(4, &hotspot[..]), (10, &power[..]), (12, &gfx[..])]);
            numbers.extend(throttling.map(|at: usize| (at, &[1_u8][..])));
            let read = AmdTable::read(&table(content, size, &numbers)).unwrap();
            assert_eq!((read.hotspot, read.power, read.gfx), (Some(61.0), Some(750.0), Some(88.0)), "1.{content}");
            assert_eq!((read.energy, read.mm), (Some(joules), None), "1.{content}");
            assert_eq!(read.is_throttled, throttling.map(|_| true), "1.{content}");
        }
        let first = table(0, 84, &[(34, &two(90)), (36, &1_000_000_u32.to_le_bytes())]);
        let read = AmdTable::read(&first).unwrap();
        assert_eq!((read.power, read.energy), (Some(90.0), Some(1e6 * 15.259e-12)));
        assert_eq!(read.is_throttled, Some(false));
    }

    #[test]
    fn what_a_gpu_does_not_have_is_left_out() {
        let full = table(3, 120, &[(4, &[0xff; 116])]);
        assert_eq!(AmdTable::read(&full), Some(AmdTable::default()));
        let short = AmdTable::read(&table(3, 24, &[(16, &[7, 0])])).unwrap();
        assert_eq!((short.gfx, short.energy), (Some(7.0), None));
    }

    #[test]
    fn layouts_that_are_not_known_give_nothing() {
        assert_eq!(AmdTable::read(&[120, 0, 2, 3, 1, 1, 1]), None);
        assert_eq!(AmdTable::read(&table(99, 200, &[])), None);
        assert_eq!(AmdTable::read(&[1, 0, 1]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..400), content in 0..12_u8) {
            if let Some(header) = bytes.get_mut(2..4) {
                header.copy_from_slice(&[1, content]);
            }
            if let Some(table) = AmdTable::read(&bytes) {
                prop_assert!(table.energy.is_none_or(f64::is_finite));
            }
        }
    }
}
