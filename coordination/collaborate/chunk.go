package collaborate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Chunk is one of the messages that a text is split into. Their bodies, joined, are the text.
type Chunk struct {
	Head string // reopens the code block that the previous message had to close
	Body string
	Tail string // closes a code block that continues in the next message, or was never closed
}

func (c Chunk) String() string { return c.Head + c.Body + c.Tail }

// Chunks splits a text into messages of Discord: see ChunksFor.
func Chunks(text string) (messages []string) {
	discord, _ := coordination.ChannelNamed(coordination.Discord)
	return ChunksFor(discord, text)
}

// ChunksFor splits a text into messages within a channel's limit, counted as the channel does. A text that fits is
// posted unchanged. Chunks of only white space, which services refuse, are left out.
func ChunksFor(channel coordination.Channel, text string) (messages []string) {
	for _, c := range split(channel, text) {
		if s := c.String(); coordination.TrimJS(c.Body) != "" {
			messages = append(messages, s)
		}
	}
	return messages
}

// split is Split within a channel's limit. A character is at most two UTF-16 code units: half the limit always fits.
func split(channel coordination.Channel, text string) (chunks []Chunk) {
	for limit := channel.MaxMessage; ; limit -= channel.MaxMessage / 8 {
		chunks = Split(text, limit)
		tooLong := func(c Chunk) bool { return channel.Length(c.String()) > channel.MaxMessage }
		if limit <= channel.MaxMessage/2 || !slices.ContainsFunc(chunks, tooLong) {
			return chunks
		}
	}
}

// leastLimit is the minimum message size: a code block needs its marks, its language and some content.
const leastLimit = 64

// Split splits a text into messages of at most limit characters, not fewer than 64. It prefers line ends, then word
// ends, unless a message would be less than half full; it never separates a character from its combining marks, nor
// splits a code mark or its language line.
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

// inside is the code block that spans a position, nil if there is none. An unclosed block extends to the end of the
// text.
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

// end returns where the message that begins at a position ends.
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

// fits reports whether the message can end there with room to close a block.
func (s *splitter) fits(end, most int) bool {
	f := s.inside(end)
	return f == nil && end <= most || f != nil && end+len(f.tail(s.runes[end-1])) <= most
}

// rank is the quality of a place to end a message.
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

// emptyBlock reports whether the split would leave a code block without code on one side.
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

// whole reports whether no character is separated from its combining marks.
func (s *splitter) whole(at, end int) bool {
	if end == len(s.runes) {
		return true
	}
	return utf8.RuneCountInString(coordination.Head(string(s.runes[at:end+1]), end-at)) == end-at
}

// forced is the end of a message without a good place: at a character with more marks than fit, or in a block of only
// white space.
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
