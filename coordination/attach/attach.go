// Package attach defines the files of a message on their way to an agent: the work that fetches them, its result, and how a prompt names
// them. It is pure.
//
// The work has the key of the agent's session and is scheduled before the run that answers the message, so that the run starts when the
// files are there, or when it is known that they cannot be had. The run names the work; what the work has found is read when the run starts.
package attach

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Kind and Pool are the work kind and the pool of fetching files. The files of all channels share the pool.
const (
	Kind = "attachments"
	Pool = "attachments"
)

// MaxFiles is how many files of one message are fetched; further ones are only counted.
const MaxFiles = 20

// Limits of what a message says about a file, in bytes.
const (
	maxName = 200
	maxType = 100
	maxRef  = 2_000
)

// Effect is the effect id of fetching the files for a run.
func Effect(runID string) string { return Kind + "/" + runID }

// RunOf is the id of the run for which an effect fetches files; false for another effect.
func RunOf(effectID string) (runID string, ok bool) { return strings.CutPrefix(effectID, Kind+"/") }

// Order is the payload of the work: which files to fetch.
type Order struct {
	Channel   string `json:"channel"`
	AccountID string `json:"accountId"` // whose bot received the message
	AgentID   string `json:"agentId"`
	MessageID string `json:"messageId"`
	Files     []File `json:"files"`
	More      int    `json:"more,omitempty"` // further files, which are not fetched
}

// File is a file as the message names it.
type File struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"` // as the service says
	Size int64  `json:"size,omitempty"` // likewise; 0 if unknown
	Ref  string `json:"ref,omitempty"`  // what the channel fetches it by; "" if it cannot

	// SHA256 is that of a file that lies beside the log already, as one does that openclawd has posted; "" for others.
	SHA256 string `json:"sha256,omitempty"`
}

// Result is the result of the work: what became of each file, in the order of Order.
type Result struct {
	Files []Stored `json:"files"`
	More  int      `json:"more,omitempty"`
}

// Stored is a file that lies beside the log, or says why it does not.
type Stored struct {
	Name   string `json:"name"`
	Type   string `json:"type,omitempty"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
	Path   string `json:"path,omitempty"` // of the copy in the agent's workspace, relative to it; "" if there is none
	Reason string `json:"reason,omitempty"`
}

// Work returns an order as work with the key of the session whose run waits for it.
func (o *Order) Work(runID, sessionKey string) (coordination.WorkScheduled, error) {
	if over := len(o.Files) - MaxFiles; over > 0 {
		o.Files, o.More = o.Files[:MaxFiles], o.More+over
	}
	for i := range o.Files {
		o.Files[i].tidy()
	}
	payload, err := json.Marshal(o)
	if err != nil {
		return coordination.WorkScheduled{}, fmt.Errorf("write the files of message %s: %w", o.MessageID, err)
	}
	return coordination.WorkScheduled{Context: coordination.Context{EventRole: coordination.RoleObservability}, EffectID: Effect(runID), Kind: Kind, Key: sessionKey,
		Pool: Pool, Owner: o.AgentID, Payload: payload}, nil
}

// tidy bounds what a message says about a file. A reference that is too long leads nowhere, so the file cannot be fetched.
func (f *File) tidy() {
	f.Name, f.Type = line(f.Name, maxName), line(f.Type, maxType)
	f.Size = max(f.Size, 0)
	if f.Ref = strings.ToValidUTF8(f.Ref, ""); len(f.Ref) > maxRef {
		f.Ref = ""
	}
}

// line is a text in one line of at most so many bytes.
func line(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")), " ")
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

// Text names the files, one a line, each after a line break.
func (r *Result) Text() string {
	var b strings.Builder
	for i := range r.Files {
		b.WriteString("\n" + r.Files[i].String())
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "\n[%d more attachments]", r.More)
	}
	return b.String()
}

// String names a file with its path, or with the reason why it has none.
func (f *Stored) String() string {
	at := cmp.Or(f.Path, "not in the workspace")
	if f.SHA256 == "" {
		at = "not fetched: " + cmp.Or(f.Reason, "it could not be had")
	}
	return fmt.Sprintf("[attachment: %s (%s, %d bytes): %s]", unbracketed(f.Name), cmp.Or(unbracketed(f.Type), "unknown type"), f.Size, at)
}

// unbracketed is a text of someone as a part of a line in brackets, which it cannot close.
func unbracketed(s string) string { return strings.NewReplacer("[", "(", "]", ")").Replace(s) }

// block is a file in a message of a transcript.
type block struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	MimeType string `json:"mimeType,omitempty"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	Path     string `json:"path,omitempty"`
}

// BlockType is the type of a block that names a stored file.
const BlockType = "file"

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Content is a message with its stored files as blocks; nil if there are none.
func (r *Result) Content(text string) json.RawMessage {
	blocks := []any{textBlock{"text", text}}
	for i := range r.Files {
		if f := &r.Files[i]; f.SHA256 != "" {
			blocks = append(blocks, block{BlockType, f.Name, f.Type, f.Size, f.SHA256, f.Path})
		}
	}
	if len(blocks) == 1 {
		return nil
	}
	content, err := json.Marshal(blocks)
	if err != nil { // texts and numbers can always be written
		return nil
	}
	return content
}

// Failed is the result of an order whose work has ended without one.
func (o *Order) Failed(reason string) Result {
	r := Result{More: o.More}
	for i := range o.Files {
		f := &o.Files[i]
		r.Files = append(r.Files, Stored{Name: f.Name, Type: f.Type, Size: f.Size, Reason: reason})
	}
	return r
}

// IsPicture reports whether models can be shown files of a media type.
func IsPicture(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}
