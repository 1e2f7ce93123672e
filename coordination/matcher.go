package coordination

import "math/bits"

// termSet is a set of term numbers.
type termSet [4]uint64

// maxTerms is how many terms a termSet can hold.
const maxTerms = len(termSet{}) * 64

func (s *termSet) add(term int) { s[term>>6] |= 1 << (term & 63) }

// each calls visit with every number in the set, lowest first, until visit returns false.
func (s *termSet) each(visit func(term int) bool) {
	for word, set := range s {
		for ; set != 0; set &= set - 1 {
			if !visit(word<<6 | bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}

// matcher finds every occurrence of its phrases in one pass over a text: an immutable Aho-Corasick automaton, made deterministic. ASCII
// letters match regardless of case.
type matcher struct {
	class  [256]uint8 // byte -> column; bytes in no phrase share column 0
	next   []uint16   // state*columns + column -> state
	accept []uint16   // state -> index into ends; 0 if no phrase ends there
	ends   [][]uint16 // phrases that end in a state, longest first

	columns int
}

// newMatcher builds the automaton. fold maps a byte of the text, ASCII letters already lowered, to the byte used in the phrases.
func newMatcher(phrases []string, fold func(byte) byte) *matcher {
	m := &matcher{ends: [][]uint16{nil}, columns: 1}
	var column [256]uint8
	for _, phrase := range phrases {
		for i := range len(phrase) {
			if column[phrase[i]] == 0 {
				column[phrase[i]] = uint8(m.columns)
				m.columns++
			}
		}
	}
	for b := range 256 {
		m.class[b] = column[fold(lowerASCII(byte(b)))]
	}

	m.addState()
	for number, phrase := range phrases {
		state := 0
		for i := range len(phrase) {
			edge := state*m.columns + int(column[phrase[i]])
			if m.next[edge] == 0 {
				m.next[edge] = uint16(m.addState())
			}
			state = int(m.next[edge])
		}
		m.endsIn(state, uint16(number))
	}
	m.close()
	return m
}

func (m *matcher) addState() int {
	m.next = append(m.next, make([]uint16, m.columns)...)
	m.accept = append(m.accept, 0)
	return len(m.accept) - 1
}

func (m *matcher) endsIn(state int, phrases ...uint16) {
	if len(phrases) == 0 {
		return
	}
	if m.accept[state] == 0 {
		m.accept[state] = uint16(len(m.ends))
		m.ends = append(m.ends, nil)
	}
	m.ends[m.accept[state]] = append(m.ends[m.accept[state]], phrases...)
}

// close turns the tree of phrases into the automaton: a missing edge follows that of the state's longest proper suffix in the tree.
// Breadth first, so that suffixes are complete before the states that need them.
func (m *matcher) close() {
	suffix := make([]int, len(m.accept))
	var queue []int
	for column := range m.columns {
		if child := int(m.next[column]); child != 0 {
			queue = append(queue, child)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		m.endsIn(state, m.ends[m.accept[suffix[state]]]...)
		for column := range m.columns {
			edge, otherwise := state*m.columns+column, m.next[suffix[state]*m.columns+column]
			if child := int(m.next[edge]); child != 0 {
				suffix[child] = int(otherwise)
				queue = append(queue, child)
			} else {
				m.next[edge] = otherwise
			}
		}
	}
}

func lowerASCII(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
