package effects

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

// MaxInputs is how often people are asked for input during one call.
const MaxInputs = 3

// CodeInputWanted is the code of an end of a call that wanted input and has got none. It is made again with what a person gives.
const CodeInputWanted = "input_wanted"

// maxSaid is how much people see of what a call returned without the input, in bytes.
const maxSaid = 1_000

// Desk asks people for input that the recipients of calls want. Its functions are called in decisions.
type Desk interface {
	// Ask requests an input of a call. refused says why no one can be asked; then nothing is requested.
	Ask(tx eventstore.Tx, call *tools.Call, t *tools.Tool, callID string, in *coordination.CallInput) (waits *tool.WaitsError, refused string, appends []eventstore.StreamAppend, err error)
	// Given is what became of the request with a number for an input of a call.
	Given(tx eventstore.Tx, callID string, number int) (*Given, error)
}

// Given is what became of a request for input.
type Given struct {
	Waits   *tool.WaitsError // it is not decided
	Refused string           // why there is no input; the agent is told
	Digest  string           // of the input that was wanted
	Values  json.RawMessage  // an object

	Appends []eventstore.StreamAppend
}

// Inputs is what the recipient of a call is answered when it wants input, and what it wants beyond that. It belongs to one attempt, whose
// functions may not be called concurrently.
type Inputs struct {
	given  []*Given
	wanted *coordination.CallInput
	note   string
}

type inputsKey struct{}

// InputsOf is the Inputs of the call that is performed with a context; nil: there are none.
func InputsOf(ctx context.Context) *Inputs {
	in, _ := ctx.Value(inputsKey{}).(*Inputs)
	return in
}

// Answer is what a person has given for the input with a digest. Each is given once.
func (in *Inputs) Answer(digest string) (values map[string]any, given bool) {
	for i, g := range in.given {
		if g.Digest == digest {
			in.given = append(in.given[:i:i], in.given[i+1:]...)
			d := json.NewDecoder(bytes.NewReader(g.Values))
			return values, d.Decode(&values) == nil
		}
	}
	return nil, false
}

// Want records an input that was not given, which the call has ended without. The agent is told the note if no one can be asked.
func (in *Inputs) Want(wanted *coordination.CallInput, note string) {
	in.wanted, in.note = wanted, note
}

// inputSoFar adds what became of the request that an attempt has ended with: more is false if the call is not made again.
func (j *Journal) inputSoFar(tx eventstore.Tx, id string, a *attempt, s *state) (more bool, err error) {
	if j.opts.Desk == nil {
		a.earlier = s
		return false, nil
	}
	given, err := j.opts.Desk.Given(tx, id, a.asked+1)
	if err != nil {
		return false, err
	}
	a.closing = given.Appends
	switch {
	case given.Waits != nil:
		a.waits = given.Waits
	case given.Refused != "":
		s.text, s.code = withNote(s.text, given.Refused), ""
		a.earlier = s
	default:
		a.asked++
		a.inputs.given = append(a.inputs.given, given)
		return true, nil
	}
	return false, nil
}

func withNote(text, note string) string {
	if text == "" {
		return "(" + note + ")"
	}
	return text + "\n(" + note + ")"
}

// asking is the end of an attempt that wants input: a request to people, or, where none can be made, an end with a note.
func (j *Journal) asking(tx eventstore.Tx, a *attempt, s *state) (done *state, waits *tool.WaitsError, appends []eventstore.StreamAppend, err error) {
	end, in := *s, *a.inputs.wanted
	in.Number = a.asked + 1
	refused := fmt.Sprintf("people were asked %d times already", MaxInputs)
	switch {
	case j.opts.Desk == nil:
		refused = "no one can be asked here"
	case in.Number <= MaxInputs:
		in.Repeatable = a.tool.Effect.Repeat != tools.RepeatNever
		in.Said = coordination.Clipped(coordination.Mask(s.text), maxSaid)
		if waits, refused, appends, err = j.opts.Desk.Ask(tx, a.call, a.tool, a.CallID, &in); err != nil {
			return nil, nil, nil, err
		}
	}
	if waits == nil {
		end.text = withNote(end.text, a.inputs.note+" No person is asked: "+refused+".")
		return &end, nil, nil, nil
	}
	end.code = CodeInputWanted
	return &end, waits, appends, nil
}
