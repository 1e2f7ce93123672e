// Package sendtools lets agents post texts and files of their workspaces where people talk to them.
//
// It promises
//   - that a file is read as the tools for files read it, and lies beside the log before anything is scheduled: what is posted is what the
//     call has read, whatever becomes of the workspace;
//   - that a call and its repetitions, also after a kill, post once;
//   - that a post goes to the conversation of the session that makes the call, and nowhere else.
package sendtools

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/once"
)

// Name is the tool's name, as in OpenClaw.
const Name = "message"

// Options of Tool. All are required.
type Options struct {
	Log eventstore.Decider
	Files
	// Send schedules a post, once per key. Errors are *delivery.Refusal, or the log's.
	Send func(ctx context.Context, p delivery.Post) error
	// NewID returns a new unique id.
	NewID func() string
}

// Tool is message, for sessions with a conversation in a channel.
func Tool(o Options) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: Name, Group: tool.GroupSessions, Label: "Send a file",
			Description: "Post a file or picture of your workspace, or a text, in the conversation that you are in. Your answer is posted anyway: " +
				"use this for files, and for what people should see before you are done.",
			Schema: tools.Object("",
				`"action":{"type":"string","enum":["send"],"description":"Default: send."}`,
				`"path":{"type":"string","minLength":1,"maxLength":4096,"description":"The file to post: its path in the workspace, relative to it or absolute."}`,
				`"media":{"type":"string","minLength":1,"maxLength":4096,"description":"The same as path."}`,
				`"filename":{"type":"string","maxLength":200,"description":"How the file is called where it is posted. Default: its name."}`,
				`"message":{"type":"string","maxLength":20000,"description":"A text to post before the file."}`),
		},
		Who: tools.Who{Unless: isNowhere},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[arguments](call)
			if err != nil {
				return tool.Output{}, err
			}
			return o.send(ctx, call, &args)
		},
	}
}

type arguments struct{ Path, Media, Filename, Message string }

// isNowhere reports whether people do not talk to the session in a channel.
func isNowhere(call *tools.Call) bool {
	_, known := coordination.ChannelNamed(call.Channel)
	return call.Channel == "" || !known || call.To == ""
}

func (o *Options) send(ctx context.Context, call *tools.Call, args *arguments) (tool.Output, error) {
	p := delivery.Post{Channel: call.Channel, AgentID: call.AgentID, AccountID: call.AccountID, To: call.To, ThreadID: call.ThreadID, Text: args.Message, RunID: call.RunID}
	path := cmp.Or(args.Path, args.Media)
	switch {
	case path == "" && strings.TrimSpace(args.Message) == "":
		return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Field: "/path", Text: "there is nothing to post", Hint: "give the path of a file, or a message"}
	case path != "":
		f, err := o.local(call, path, args.Filename)
		if err != nil {
			return tool.Output{}, err
		}
		p.Files = []delivery.File{f}
	}
	if err := o.locate(ctx, call, &p); err != nil {
		return tool.Output{}, err
	}
	err := o.Send(ctx, p)
	if no := (*delivery.Refusal)(nil); errors.As(err, &no) {
		return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Field: "/path", Text: "it cannot be posted: " + no.Error(), Hint: no.HintText}
	}
	if err != nil {
		return tool.Output{}, err
	}
	return said(p.Files)
}

// locate sets the key of a post, which is the same for a repetition of the call, and its place in the chain of causes. A call that is never
// repeated has a key of its own.
func (o *Options) locate(ctx context.Context, call *tools.Call, p *delivery.Post) error {
	_, err := o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		key, err := once.KeyOf(tx, call, Name)
		if err != nil {
			return nil, err
		}
		link, _, _, err := runs.Link(tx, call.RunID)
		if err != nil {
			return nil, err
		}
		p.Key = Name + "/" + hex.EncodeToString(key[:])
		if key == (once.Key{}) {
			p.Key = Name + "/" + o.NewID()
		}
		p.Context = coordination.Context{WorkSessionID: call.WorkSessionID, TaskID: call.TaskID, RootRunID: link.Root, Hop: &link.Hop}
		return nil, nil
	})
	return err
}

func said(files []delivery.File) (tool.Output, error) {
	if len(files) == 0 {
		return tool.Output{Text: "The message is on its way."}, nil
	}
	details, err := json.Marshal(map[string]any{"files": files})
	return tool.Output{Text: fmt.Sprintf("%s (%s, %d bytes) is on its way.", files[0].Name, files[0].Type, files[0].Size), Details: details}, err
}
