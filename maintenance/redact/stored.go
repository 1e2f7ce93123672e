package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
)

// Stored lists the files that lie beside the log. forget removes those listed that are not among the named ones, with all of their copies,
// and is called after the log was read.
type Stored func(ctx context.Context) (forget func(named map[string]bool) (int, error), err error)

// stored removes the files of messages that no event names any more.
func (f *cleanup) stored(ctx context.Context) error {
	if f.o.Stored == nil {
		return nil
	}
	f.at(stepStored, 0, 0)
	forget, err := f.o.Stored(ctx)
	if err != nil {
		return fmt.Errorf("list the files of messages: %w", err)
	}
	named, err := f.namedFiles(ctx)
	if err != nil {
		return fmt.Errorf("find the files that the log names: %w", err)
	}
	n, err := forget(named)
	if err != nil {
		return fmt.Errorf("remove files of messages: %w", err)
	}
	f.done.Files += int64(n)
	return nil
}

// namesFile finds the files in the payload of an event. In a text the quotes would be escaped.
var namesFile = regexp.MustCompile(`"sha256":"([0-9a-f]{64})"`)

// namedFiles reads which files the log names. What was fetched for a run counts until the run begins: then its message names the files, as
// long as that is not redacted.
func (r *Redactor) namedFiles(ctx context.Context) (map[string]bool, error) {
	named, fetched := map[string]bool{}, map[string][]string{} // by the stream of the run
	runs := map[string]string{}                                // by the stream of the work that fetches files: the stream of its run
	const page = 1_000
	for seq := int64(0); ; {
		events, err := r.o.Log.Read(ctx, seq, page)
		if err != nil {
			return nil, err
		}
		for i := range events {
			e := &events[i]
			seq = e.Seq
			switch e.Type {
			case coordination.TypeWorkScheduled:
				if run := fetchedFor(e.Data); run != "" {
					runs[e.Stream] = run
				}
				fallthrough
			case coordination.TypeSessionMessage:
				for _, id := range filesIn(e.Data) {
					named[id] = true
				}
			case coordination.TypeWorkCompleted:
				if run := runs[e.Stream]; run != "" {
					fetched[run] = filesIn(e.Data)
					delete(runs, e.Stream)
				}
			case coordination.TypeRunQueued:
			default:
				if strings.HasPrefix(e.Type, "run.") {
					delete(fetched, e.Stream)
				}
			}
		}
		if len(events) < page {
			break
		}
	}
	for _, ids := range fetched {
		for _, id := range ids {
			named[id] = true
		}
	}
	return named, nil
}

// fetchedFor is the stream of the run for which scheduled work fetches files; "" for other work.
func fetchedFor(data json.RawMessage) string {
	var what coordination.WorkScheduled
	if !bytes.Contains(data, []byte(attach.Kind)) || json.Unmarshal(data, &what) != nil || what.Kind != attach.Kind {
		return ""
	}
	runID, is := attach.RunOf(what.EffectID)
	if !is {
		return ""
	}
	return coordination.RunStream(runID)
}

func filesIn(data json.RawMessage) (ids []string) {
	for _, found := range namesFile.FindAllSubmatch(data, -1) {
		ids = append(ids, string(found[1]))
	}
	return ids
}
