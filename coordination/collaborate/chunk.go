package collaborate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Chunk is one of the messages that a text is divided into. The bodies of all of them, joined, are the text.
type Chunk struct {
	Head string // opens the block of code again that the message before had to close
	Body string
	Tail string // closes the block that goes on in the next message, or was never closed
}

func (c Chunk) String() string { return c.Head + c.Body + c.Tail }

// Chunks are the messages that a text is posted as, each of at most MaxMessage characters, counted as Discord does. A text that fits is posted as
// it stands. What would be nothing but white space, which Discord refuses, is left out.
func Chunks(text string) (messages []string) {
	for _, c := range Split(text, MaxMessage) {
		if s := c.String(); coordination.TrimJS(c.Body) != "" {
			messages = append(messages, s)
		}
	}
	return messages
}

// leastLimit is how small messages may be: a block of code needs its marks, its language and something in it.
const leastLimit = 64

// Split divides a text into messages of at most limit characters, not fewer than 64. It ends messages where a line ends, else where a word ends,
// unless they would be less than half full; it does not part a character from its marks, and neither a mark of code nor the line of its language.
func Split(text string, limit int) (chunks []Chunk) {
	limit = max(limit, leastLimit)
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= limit {
		return []Chunk{{Body: text}}
	}
	s := splitter{runes: []rune(text), limit: limit}
	s.fences = fences(s.runes)
	for at := 0; at < len(s.runes); {
		end := s.end(at)
		chunks = append(chunks, s.chunk(at, end))
		at = end
	}
	return chunks
}

type splitter struct {
	runes  []rune
	fences []fence
	limit  int
}

// inside is the block of code that goes on over a position, nil if there is none. One that is never closed goes on at the end of the text.
func (s *splitter) inside(at int) *fence {
	for i := range s.fences {
		if f := &s.fences[i]; at >= f.code && at <= f.end {
			return f
		}
	}
	return nil
}

func (s *splitter) chunk(at, end int) (c Chunk) {
	c.Body = string(s.runes[at:end])
	if f := s.inside(at); f != nil {
		c.Head = f.head()
	}
	if f := s.inside(end); f != nil {
		c.Tail = f.tail(s.runes[end-1])
	}
	return c
}

// Ranks of places to end a message at.
const (
	nowhere = iota
	anywhere
	afterWord
	afterLine
)

// end is where the message ends that begins at a position.
func (s *splitter) end(at int) int {
	room := s.limit
	if f := s.inside(at); f != nil {
		room -= len(f.head())
	}
	most := min(at+room, len(s.runes))
	var best [afterLine + 1]int
	for end := most; end > at; end-- {
		if !s.fits(end, at+room) || s.emptyBlock(at, end) {
			continue
		}
		if rank := s.rank(end); best[rank] == 0 && rank != nowhere && s.whole(at, end) {
			best[rank] = end
		}
		if best[afterLine] > 0 || end-at <= room/2 && best[anywhere]+best[afterWord] > 0 {
			break
		}
	}
	for rank := afterLine; rank >= anywhere; rank-- {
		if best[rank] > 0 {
			return best[rank]
		}
	}
	return s.forced(at, at+room)
}

// fits says whether the message can end there with what it takes to close a block.
func (s *splitter) fits(end, most int) bool {
	f := s.inside(end)
	return f == nil && end <= most || f != nil && end+len(f.tail(s.runes[end-1])) <= most
}

// rank is how good it is to end a message there.
func (s *splitter) rank(end int) int {
	for i := range s.fences {
		f := &s.fences[i]
		if end > f.open && end < f.code || end > f.end && end < f.closed {
			return nowhere
		}
	}
	switch {
	case end == len(s.runes), s.runes[end-1] == '\n':
		return afterLine
	case unicode.IsSpace(s.runes[end-1]):
		return afterWord
	}
	return anywhere
}

// emptyBlock says whether the seam would leave a block of code without code on one of its sides.
func (s *splitter) emptyBlock(at, end int) bool {
	f := s.inside(end)
	return f != nil && end < len(s.runes) && (blank(s.runes[max(at, f.code):end]) || blank(s.runes[end:f.end]))
}

func blank(runes []rune) bool {
	for _, r := range runes {
		if !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}

// whole says whether no character is parted from its marks.
func (s *splitter) whole(at, end int) bool {
	if end == len(s.runes) {
		return true
	}
	return utf8.RuneCountInString(coordination.Head(string(s.runes[at:end+1]), end-at)) == end-at
}

// forced is where a message ends that has no good place: at a character with more marks than fit, or in a block of nothing but white space.
func (s *splitter) forced(at, most int) int {
	parted := 0
	for end := min(most, len(s.runes)); end > at; end-- {
		if !s.fits(end, most) || s.rank(end) == nowhere {
			continue
		}
		if s.whole(at, end) {
			return end
		}
		parted = max(parted, end)
	}
	return max(parted, at+1)
}
