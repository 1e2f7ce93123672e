package prompt

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// Fitted is what is told of messages.
type Fitted struct {
	Messages  []llm.Message // as llm.Paired gives them
	Tokens    int
	LeftOut   int // messages that are not told
	Shortened int // messages of which a text is cut, or pictures or arguments are left out
}

// Fit chooses of messages, the oldest first, what takes at most so many tokens; at least leastRoom are taken to be there. The newest turn,
// from the last message of a user on, is always told, and older turns as a whole, the newest of them first, as long as there is room. If the
// newest turn alone is too long, its longest texts are cut in their middle; if that is not enough, what came between its first message and
// its last calls of tools is left out. messages is not changed.
func Fit(messages []llm.Message, tokens int) Fitted {
	tokens = max(tokens, leastRoom)
	paired := llm.Paired(messages)
	newest := beginningOfTurn(paired, len(paired))
	f := fitTurn(paired[newest:], tokens)
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
	f.Messages = append(slices.Clone(paired[begin:newest]), f.Messages...)
	return f
}

// beginningOfTurn is where the turn begins that ends before end: at a message of a user, or at the first of all.
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

// leastText is how many tokens every text of a turn keeps before messages of it are left out.
const leastText = 50

// fitTurn is Fit for the newest turn.
func fitTurn(turn []llm.Message, tokens int) Fitted {
	if cost := costOf(turn); cost <= tokens {
		return Fitted{Messages: turn, Tokens: cost}
	}
	t := make(turnInHand, len(turn))
	for i := range turn {
		t[i].set(turn[i])
	}
	t.leaveOutPictures(tokens)
	t.leaveOutMiddle(tokens)
	if t.costWith(leastText) > tokens {
		t.leaveOutArguments()
	}
	if t.costWith(1) > tokens { // too many calls at once: there is nothing to tell but what they are for
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

// turnInHand is a turn that is being made to fit.
type turnInHand []piece

// piece is a message and what it costs, counted once.
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

// costWith is what the turn costs if no text has more than so many tokens.
func (t turnInHand) costWith(most int) (tokens int) {
	for i := range t {
		tokens += t[i].rest + min(t[i].text, most)
	}
	return tokens
}

// leaveOutPictures does so, the oldest first, while they leave too little room for texts.
func (t turnInHand) leaveOutPictures(tokens int) {
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

// leaveOutMiddle leaves out calls of tools with their results, the oldest first, but neither the first message nor the last calls.
func (t *turnInHand) leaveOutMiddle(tokens int) {
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

// afterResults is where results of tools end that may be at i.
func (t turnInHand) afterResults(i int) int {
	for i < len(t) && t[i].Role == llm.ToolRole {
		i++
	}
	return i
}

func (t turnInHand) leaveOutArguments() {
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

// leaveOutCalls leaves nothing but the first message, without calls.
func (t *turnInHand) leaveOutCalls() {
	*t = (*t)[:1]
	first := &(*t)[0]
	if m := first.Message; len(m.ToolCalls) > 0 {
		m.ToolCalls, m.Text = nil, cmp.Or(m.Text, strings.TrimSpace(cutMark))
		first.set(m)
		first.changed = true
	}
}

// shorten cuts the longest texts to one length: the greatest with which the turn fits.
func (t turnInHand) shorten(tokens int) {
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
