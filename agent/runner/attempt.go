package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/modelcall"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// asker asks models for the steps of a run: modelcall.Talk here, remote.Talk on another machine.
type asker interface {
	Ask(ctx context.Context, s *modelcall.Step, stream func(llm.Chunk)) (*llm.Answer, *prompt.Report, error)
}

// failedChoice is a choice that has failed.
type failedChoice struct {
	class string
	text  string
}

// leastShare is the smallest fraction of a window tried when a model reports that the request is too long.
const leastShare = 0.25

// ask gets an answer from one of the choices. A choice that has answered is used again at the next step. Errors are
// *failure, or ctx's.
func (t *turn) ask(ctx context.Context, step int) (*llm.Answer, error) {
	attempt := 0
	for {
		answer, err := t.askChoice(ctx, step, &attempt)
		if err == nil {
			t.count(answer)
			return answer, nil
		}
		var own *failure
		if ctx.Err() != nil || errors.As(err, &own) || isUnplaced(err) {
			return nil, err
		}
		t.failed = append(t.failed, failedBy(err))
		if t.at+1 == len(t.choices) {
			return nil, t.allFailed()
		}
		t.runner.logger.Info("trying another model", "run", t.result.RunID, "failed", t.choices[t.at], "next", t.choices[t.at+1], "err", err)
		t.at++
		t.share = 1 // its window may differ
	}
}

// askChoice asks the current choice until it answers or retrying cannot help.
func (t *turn) askChoice(ctx context.Context, step int, attempt *int) (*llm.Answer, error) {
	for again := 1; ; {
		if calls := t.before.ModelCalls + t.spend.ModelCalls; calls >= t.runner.limits.ModelCalls {
			return nil, &failure{classTools, fmt.Sprintf("no end after %d calls of models", calls)}
		}
		answer, err := t.complete(ctx, step, *attempt+1)
		if modelcall.WasAsked(err) {
			*attempt++
			t.spend.ModelCalls++
		}
		if err == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e := (*llm.Error)(nil)
		if !errors.As(err, &e) {
			return nil, err
		}
		if e.Class == llm.ContextExceeded && t.share > leastShare {
			t.share /= 2
			continue
		}
		delay, ok := t.mayAskAgain(ctx, e, again)
		if !ok {
			return nil, err
		}
		again++
		if err := wait.For(ctx, delay); err != nil {
			return nil, err
		}
	}
}

// mayAskAgain reports whether the same model may answer in time, and the delay before.
func (t *turn) mayAskAgain(ctx context.Context, e *llm.Error, again int) (delay time.Duration, ok bool) {
	if !e.Retryable() || again > t.runner.limits.Retries || e.RetryAfter > t.runner.limits.RetryAfter {
		return 0, false
	}
	delay = max(t.runner.backoff(again), e.RetryAfter)
	deadline, ends := ctx.Deadline()
	return delay, !ends || delay < time.Until(deadline)
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// maxReport is the size limit of a stored prompt report, in bytes of JSON.
const maxReport = 16 << 10

// report stores the composition of a prompt.
func (t *turn) report(r *prompt.Report) {
	text, err := json.Marshal(r)
	if err != nil || len(text) > maxReport {
		text = nil
	}
	t.spend.Prompt = text
}

// complete asks the current choice once for a step and forwards its stream.
func (t *turn) complete(ctx context.Context, step, attempt int) (*llm.Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.discardText()
	h := streamReceiver{turn: t, most: t.runner.limits.AnswerBytes, cancel: cancel}
	ref := t.choices[t.at]
	answer, report, err := t.models.Ask(ctx, &modelcall.Step{Ref: ref, Share: t.share, Steps: t.steps, Attempt: attempt,
		Key: run.RootOf(t.result.RunID, t.asked.RetryOf) + ":" + strconv.Itoa(step)}, h.chunk)
	if report != nil && report != t.reported {
		t.report(report)
		t.reported = report
	}
	if h.tooLong {
		provider, model := config.SplitModel(ref)
		return nil, &llm.Error{Class: llm.TooLarge, Provider: provider, Model: model, Message: fmt.Sprintf("more than %d bytes of text", h.most)}
	}
	return answer, err
}

// errTooLong aborts an endless answer.
var errTooLong = errors.New("the answer is too long")

// streamReceiver receives a streamed answer.
type streamReceiver struct {
	turn    *turn
	text    strings.Builder // append-only, so that repeating all of it costs nothing
	most    int
	started bool
	tooLong bool
	cancel  context.CancelCauseFunc
}

func (h *streamReceiver) chunk(c llm.Chunk) {
	switch {
	case h.tooLong:
	case c.Thinking != "":
		h.turn.notify(run.Update{Kind: run.Thinking, Delta: c.Thinking})
	case c.Text != "":
		h.receive(c.Text)
	}
}

func (h *streamReceiver) receive(delta string) {
	if room := h.most - h.text.Len(); len(delta) > room {
		delta, h.tooLong = delta[:boundary(delta, room)], true
	}
	if delta != "" {
		h.text.WriteString(delta)
		text := h.text.String()
		h.turn.setText(text)
		h.turn.notify(run.Update{Kind: run.Text, Text: text, Delta: delta, Replaces: !h.started && h.turn.told})
		h.started, h.turn.told = true, true
	}
	if h.tooLong {
		h.cancel(errTooLong)
	}
}

// boundary is the largest cut within n bytes that splits no character.
func boundary(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// shorten truncates a text to about n bytes, with a note at its end.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	cut := boundary(text, n)
	return text[:cut] + fmt.Sprintf("\n...(truncated: the first %d of %d bytes)...", cut, len(text))
}

// failedBy says why a choice has failed.
func failedBy(err error) failedChoice {
	var (
		e    *llm.Error
		open *catalogue.Error
		full *prompt.Error
	)
	switch {
	case errors.As(err, &e):
		return failedChoice{string(e.Class), e.Error()}
	case errors.As(err, &open) && strings.HasSuffix(open.Setting, ".apiKey"):
		return failedChoice{string(llm.Auth), open.Error()}
	case errors.As(err, &open):
		return failedChoice{string(llm.Rejected), open.Error()}
	case errors.As(err, &full):
		return failedChoice{classPrompt, full.Error()}
	}
	return failedChoice{classInternal, llm.Clean(err.Error())}
}

// maxFailure is how many bytes of the choices' errors a run repeats.
const maxFailure = 2_000

// allFailed is the failure of a run without answer from any model: the first choice's error, then the others'.
func (t *turn) allFailed() *failure {
	f := &failure{t.failed[0].class, t.failed[0].text}
	for _, other := range t.failed[1:] {
		f.text += "; then " + other.text
	}
	f.text = f.text[:boundary(f.text, maxFailure)]
	return f
}
