package prompt

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// Fitted is the part of messages that a prompt includes.
type Fitted struct {
	Messages  []llm.Message // as returned by llm.Paired
	Tokens    int
	LeftOut   int // messages not included
	Shortened int // messages with a cut text, or without their pictures or arguments
}

// Fit selects from messages, the oldest first, what takes at most so many tokens, or leastRoom if that is more. The
// newest turn, from the last message of a user on, is always included. Older turns are included as a whole, the
// newest first, while there is room. If the newest turn alone is too long, its longest texts are cut in their middle;
// if that is not enough, the part between its first message and its last tool calls is dropped. messages is not
// changed, and may share memory with the result.
func Fit(messages []llm.Message, tokens int) Fitted {
	tokens = max(tokens, leastRoom)
	paired := llm.Paired(messages)
	newest := beginningOfTurn(paired, len(paired))
	f := fitTurn(paired[newest:], tokens)
	whole := f.LeftOut+f.Shortened == 0
	begin := newest
	for begin > 0 {
		before := beginningOfTurn(paired, begin)
		cost := costOf(paired[before:begin])
		if f.Tokens+cost > tokens {
			break
		}
		begin, f.Tokens = before, f.Tokens+cost
	}
	f.LeftOut += begin
	if whole {
		f.Messages = paired[begin:len(paired):len(paired)]
	} else {
		f.Messages = append(slices.Clone(paired[begin:newest]), f.Messages...)
	}
	return f
}

// beginningOfTurn returns where the turn begins that ends before end: at a message of a user, else at 0.
func beginningOfTurn(messages []llm.Message, end int) int {
	for i := end - 1; i >= 0; i-- {
		if messages[i].Role == llm.User {
			return i
		}
	}
	return 0
}

func costOf(messages []llm.Message) (tokens int) {
	for i := range messages {
		tokens += messages[i].EstimateTokens()
	}
	return tokens
}

// leastText is how many tokens every text of a turn keeps before messages of the turn are dropped.
const leastText = 50

// fitTurn is Fit for the newest turn.
func fitTurn(turn []llm.Message, tokens int) Fitted {
	if cost := costOf(turn); cost <= tokens {
		return Fitted{Messages: turn, Tokens: cost}
	}
	t := make(currentTurn, len(turn))
	for i := range turn {
		t[i].set(turn[i])
	}
	t.leaveOutPictures(tokens)
	t.leaveOutMiddle(tokens)
	if t.costWith(leastText) > tokens {
		t.leaveOutArguments()
	}
	if t.costWith(1) > tokens { // too many calls at once: only what they are for remains
		t.leaveOutCalls()
	}
	t.shorten(tokens)
	f := Fitted{LeftOut: len(turn) - len(t)}
	for i := range t {
		f.Messages = append(f.Messages, t[i].Message)
		if t[i].changed {
			f.Shortened++
		}
	}
	f.Tokens = costOf(f.Messages)
	return f
}

// currentTurn is a turn while it is shortened.
type currentTurn []piece

// piece is a message with its cost, counted once.
type piece struct {
	llm.Message
	text, rest int // tokens
	changed    bool
}

func (p *piece) set(m llm.Message) {
	p.Message, p.text = m, llm.EstimateTokens(m.Text)
	m.Text = ""
	p.rest = m.EstimateTokens()
}

// costWith is the cost of the turn if no text has more than most tokens.
func (t currentTurn) costWith(most int) (tokens int) {
	for i := range t {
		tokens += t[i].rest + min(t[i].text, most)
	}
	return tokens
}

// leaveOutPictures drops pictures, the oldest first, while they leave too little room for texts.
func (t currentTurn) leaveOutPictures(tokens int) {
	for i := range t {
		p := &t[i]
		for len(p.Images) > 0 && t.costWith(leastText) > tokens {
			m := p.Message
			m.Images = m.Images[1:]
			p.set(m)
			p.changed = true
		}
	}
}

// leaveOutMiddle drops tool calls with their results, the oldest first, but keeps the first message and the last
// calls.
func (t *currentTurn) leaveOutMiddle(tokens int) {
	from := t.afterResults(1)
	to, cost := from, t.costWith(leastText)
	for cost > tokens {
		next := t.afterResults(to + 1)
		if next >= len(*t) {
			break
		}
		cost -= (*t)[to:next].costWith(leastText)
		to = next
	}
	if to > from {
		*t = slices.Delete(*t, from, to)
	}
}

// afterResults returns where the tool results end that may begin at i.
func (t currentTurn) afterResults(i int) int {
	for i < len(t) && t[i].Role == llm.ToolRole {
		i++
	}
	return i
}

func (t currentTurn) leaveOutArguments() {
	for i := range t {
		m := t[i].Message
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for j := range m.ToolCalls {
			if call := &m.ToolCalls[j]; len(call.Arguments) > len("{}") {
				call.Arguments, t[i].changed = json.RawMessage("{}"), true
			}
		}
		t[i].set(m)
	}
}

// leaveOutCalls keeps only the first message, without its calls.
func (t *currentTurn) leaveOutCalls() {
	*t = (*t)[:1]
	first := &(*t)[0]
	if m := first.Message; len(m.ToolCalls) > 0 {
		m.ToolCalls, m.Text = nil, cmp.Or(m.Text, strings.TrimSpace(cutMark))
		first.set(m)
		first.changed = true
	}
}

// shorten cuts the longest texts to one length: the greatest with which the turn fits.
func (t currentTurn) shorten(tokens int) {
	low, high := 1, tokens
	for low < high {
		middle := (low + high + 1) / 2
		if t.costWith(middle) <= tokens {
			low = middle
		} else {
			high = middle - 1
		}
	}
	for i := range t {
		if t[i].text > low {
			t[i].Text, t[i].changed = shorten(t[i].Text, low), true
		}
	}
}
