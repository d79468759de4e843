//! The words of synthetic prose, by their role in a sentence.

/// Words before a noun.
pub(super) const DETERMINERS: &str = "the the the the this that every each some another our their its his her my your \
no any one";

/// Things and people, singular.
pub(super) const NOUNS: &str = "river house garden window market captain teacher letter morning winter summer engine \
bridge harbour village mountain valley forest meadow orchard island station platform carriage ticket journey traveller \
stranger neighbour doctor farmer baker painter writer reader student scholar lawyer merchant sailor soldier keeper driver \
singer dancer builder carpenter gardener printer engineer inventor chemist surgeon nurse clerk cook waiter barber tailor \
weaver miller shepherd hunter fisherman pilot guard judge mayor king queen prince child mother father brother sister uncle \
cousin friend guest host visitor witness leader servant master pupil crowd family council committee company army team crew \
story chapter poem song melody chorus picture portrait statue museum library theatre school college hospital church temple \
castle palace tower cottage cabin kitchen cellar attic corridor staircase balcony roof chimney doorway gate fence wall \
corner street avenue alley square fountain park playground field hill cliff cave beach shore ocean lake stream waterfall \
desert plain jungle swamp storm thunder lightning rainbow cloud breeze shadow sunrise sunset evening afternoon midnight \
season harvest festival holiday wedding birthday supper breakfast dinner meal bread butter cheese apple orange cherry \
lemon pepper honey coffee kettle bottle basket barrel blanket pillow mirror candle lantern lamp clock watch compass map \
globe telescope camera piano violin guitar trumpet drum whistle bell hammer ladder shovel needle thread button pocket \
jacket sweater umbrella suitcase wallet coin treasure necklace bracelet ring crown sword shield arrow banner flag anchor \
sail boat ship ferry canoe raft wagon bicycle train tunnel railway airport airplane balloon rocket satellite planet moon \
star sky horizon universe atom molecule crystal mineral metal copper silver iron marble granite diamond signal message \
answer question problem solution theory method experiment result measure number figure equation pattern system machine \
computer program network record document contract report article newspaper magazine notebook pencil paper envelope stamp \
parcel package cargo shipment factory workshop office studio laboratory bank store shop tavern hotel";

/// Things and people, plural.
pub(super) const PLURALS: &str = "people children men women friends neighbours travellers workers farmers sailors \
students teachers writers readers visitors guests soldiers leaders artists musicians scientists engineers doctors \
merchants birds horses cattle sheep dogs cats wolves foxes rabbits eagles swallows gulls salmon bees flowers roses trees \
leaves branches roots seeds fields hills mountains valleys rivers streams islands villages towns cities streets houses \
windows doors walls roofs gardens bridges roads paths gates letters books stories songs pictures maps papers documents \
numbers figures answers questions problems methods results rules laws customs habits dreams memories plans promises \
secrets reasons mistakes lessons tools machines engines wheels ropes nails boxes baskets bottles barrels candles lamps \
clocks bells drums coins jewels clothes shoes gloves coats hats boats ships trains carriages wagons tickets parcels \
stones bricks planks shells clouds storms stars planets shadows voices footsteps";

/// Properties of things and people.
pub(super) const ADJECTIVES: &str = "old young small large quiet loud bright dark pale deep shallow narrow wide tall \
short long heavy light warm cold cool hot dry wet soft hard smooth rough sharp blunt clean dusty empty full open closed \
hidden distant near early late recent ancient modern simple complex strange common rare familiar foreign local royal \
humble proud brave timid gentle fierce calm restless patient eager careful careless honest clever wise foolish curious \
cheerful gloomy merry lonely weary tired hungry thirsty sleepy busy idle quick slow sudden steady broken sturdy fragile \
golden silver wooden stone iron crooked straight round square flat steep level northern southern eastern western central \
outer inner upper lower former final first second third last next only single double entire whole half modest generous \
greedy grateful bitter sweet sour fresh stale ripe rotten wild tame silent noisy misty foggy sunny windy stormy frozen \
snowy rainy green blue red yellow purple brown grey white black scarlet crimson amber plain fancy elegant clumsy graceful \
swift nimble sincere sensible useful useless precious cheap costly famous unknown certain doubtful likely possible \
necessary important minor major average perfect unusual remarkable pleasant awkward peaceful hopeful cautious reliable \
faithful invisible delicate massive tiny enormous vast endless brief lengthy careful thorough vivid faint";

/// Verbs with an object, past tense.
pub(super) const TRANSITIVE: &str = "found lost kept gave took brought carried followed led watched heard saw noticed \
remembered forgot described explained studied measured counted weighed painted repaired built opened closed locked \
crossed reached entered left visited admired praised blamed thanked greeted welcomed invited warned helped saved \
protected defended attacked chased caught missed passed joined served paid sold bought borrowed lent offered refused \
accepted answered asked promised wrote read sang played learned taught showed hid buried discovered invented designed \
planned finished started stopped changed improved ruined damaged cleaned washed polished covered wrapped filled emptied \
lifted dropped pushed pulled threw held touched moved turned lit burned planted gathered picked cooked tasted shared \
divided collected arranged sorted copied printed published recorded signed sealed delivered received returned rejected \
expected imagined believed doubted trusted needed wanted loved feared ignored understood mentioned suggested proposed \
considered compared examined tested proved observed guarded searched guided steered anchored loaded unloaded replaced \
restored rescued surrounded avoided approached";

/// Verbs without an object, past tense.
pub(super) const INTRANSITIVE: &str = "waited slept rested walked ran travelled wandered arrived departed returned \
appeared vanished rose fell stood sat knelt leaned listened laughed smiled wept sighed whispered shouted argued agreed \
hesitated paused stopped continued worked played danced sang dreamed prayed grew shrank faded glowed shone flickered \
trembled stumbled climbed sailed drifted floated sank swam flew landed recovered survived succeeded failed remained \
stayed changed hurried lingered nodded bowed gathered";

pub(super) const ADVERBS: &str = "slowly quickly quietly loudly carefully gently suddenly finally often rarely always \
never soon later early again twice together apart alone nearby outside inside upstairs downstairs abroad everywhere \
nowhere indeed perhaps certainly probably gladly sadly kindly bravely calmly eagerly patiently politely honestly simply \
nearly almost barely hardly mostly partly wholly deeply highly widely closely clearly plainly exactly roughly promptly \
steadily gradually constantly usually sometimes seldom instead anyway meanwhile still already";

pub(super) const PREPOSITIONS: &str = "in on at by near under over above below behind beside beyond between among across \
along around through toward from with without against before after during until within inside outside past upon beneath \
throughout despite";

pub(super) const CONJUNCTIONS: &str = "and but so while because although when before after since until as whereas if \
unless and and but";

/// Words before the first clause, with a comma.
pub(super) const OPENERS: &str = "meanwhile however finally later afterwards therefore nevertheless still besides \
instead usually sometimes often suddenly eventually indeed yesterday today tonight tomorrow elsewhere overhead outside \
inside downstairs upstairs naturally fortunately unfortunately clearly perhaps certainly surprisingly likewise moreover \
otherwise thus again soon then first next";

pub(super) const NAMES: &str = "Anna Martin Clara Peter Julia Thomas Helen Oliver Marie Simon Laura Victor Emma Daniel \
Alice Henry Rose Walter Grace Arthur Lucy Samuel Edith Hugo Nora Felix Ruth Oscar Irene Leo Sarah Paul David Jack Mary \
James George Robert John Michael";

/// Short words that are one token in almost every vocabulary and can end any sentence.
pub(super) const FILLERS: &str = "now then too so here there more less again once still yet up down on in out over all \
well just not and or but if as at by for from of to with the a an it is was be he she we they you I me my no yes";
