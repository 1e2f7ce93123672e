package back

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// atOnce bounds what is read in one snapshot: transcripts, and messages.
const (
	atOnce         = 500
	messagesAtOnce = 50
)

// sessions writes all transcripts, and sessions.json of each agent. Keys are sorted, so that sessions of an agent follow each other, except
// for those whose key names none.
func (w *writer) sessions(ctx context.Context) error {
	stores := map[string]map[string]map[string]any{} // by agent and key
	var last sessions.Transcript
	for {
		var list []sessions.Transcript
		err := w.Log.View(ctx, func(tx *sql.Tx) (err error) {
			list, err = sessions.TranscriptsAfter(ctx, tx, last, atOnce)
			return err
		})
		if err != nil {
			return err
		}
		for i := range list {
			if err := w.transcript(ctx, &list[i], stores); err != nil {
				return err
			}
		}
		if len(list) < atOnce {
			break
		}
		last = list[len(list)-1]
	}
	for agent, store := range stores {
		if err := w.file(path.Join(sessionsDir(agent), "sessions.json"), func(out io.Writer) error { return line(out, store) }); err != nil {
			return err
		}
	}
	return nil
}

func sessionsDir(agent string) string { return path.Join("agents", agent, "sessions") }

// transcript writes a transcript, and notes its session if it is the current one.
func (w *writer) transcript(ctx context.Context, t *sessions.Transcript, stores map[string]map[string]map[string]any) error {
	key, err := coordination.ParseSessionKey(t.Key)
	if err != nil || !isFileName(t.ID) {
		return fmt.Errorf("write session %s: its transcript %q cannot be the name of a file", t.Key, t.ID)
	}
	agent := cmp.Or(key.Agent, w.DefaultAgent)
	name := t.ID + ".jsonl"
	if t.Closed != "" {
		why := "reset"
		if t.Closed == "deleted" {
			why = t.Closed
		}
		name += "." + why + "." + time.UnixMilli(t.ClosedAt).UTC().Format("2006-01-02T15-04-05.000Z")
	}
	w.report.Transcripts++
	err = w.file(path.Join(sessionsDir(agent), name), func(out io.Writer) error { return w.messages(ctx, t, agent, out) })
	if err != nil || t.Closed != "" {
		return err
	}
	return w.Log.View(ctx, func(tx *sql.Tx) error {
		one, err := sessions.ByKey(ctx, tx, t.Key)
		if err != nil || one == nil || one.ID != t.ID {
			return err
		}
		if stores[agent] == nil {
			stores[agent] = map[string]map[string]any{}
		}
		stores[agent][t.Key] = entryOf(one)
		w.report.Sessions++
		return nil
	})
}

// isFileName reports whether a transcript's id may be part of a file's name.
func isFileName(id string) bool {
	return id != "" && !strings.HasPrefix(id, ".") && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
}

// entryOf is a session as sessions.json has it.
func entryOf(s *sessions.Session) map[string]any {
	e := map[string]any{"sessionId": s.ID, "updatedAt": s.UpdatedAt, "abortedLastRun": s.AbortedLastRun}
	for name, value := range s.Settings {
		e[name] = value
	}
	delete(e, "model")
	if set := s.Settings.Text("model"); set != "" {
		provider, model, both := strings.Cut(set, "/")
		if !both {
			provider, model = "", set
		}
		e["modelOverride"] = model
		if provider != "" {
			e["providerOverride"] = provider
		}
	}
	for name, text := range map[string]string{"label": s.Label, "spawnedBy": s.Spawner, "modelProvider": s.Provider, "model": s.Model, "lastChannel": s.LastChannel,
		"lastTo": s.LastTo, "lastAccountId": s.LastAccount, "lastThreadId": s.LastThread} {
		if text != "" {
			e[name] = text
		}
	}
	if s.TokensFresh {
		// OpenClaw counts what the model was told as the total: so much of the context window is used.
		e["inputTokens"], e["outputTokens"], e["totalTokens"], e["totalTokensFresh"] = s.InputTokens, s.OutputTokens, cmp.Or(s.InputTokens, s.TotalTokens), true
	}
	return e
}

// messages writes the lines of a transcript.
func (w *writer) messages(ctx context.Context, t *sessions.Transcript, agent string, out io.Writer) error {
	err := line(out, map[string]any{"type": "session", "version": 3, "id": t.ID, "timestamp": isoTime(t.OpenedAt), "cwd": "workspace-" + agent})
	if err != nil {
		return err
	}
	c := chain{used: map[string]bool{}}
	for seq := int64(0); ; {
		var list []sessions.Message
		err := w.Log.View(ctx, func(tx *sql.Tx) (err error) {
			list, err = sessions.MessagesAfter(ctx, tx, t.ID, seq, messagesAtOnce)
			return err
		})
		if err != nil {
			return err
		}
		for i := range list {
			seq = list[i].Seq
			if list[i].Redacted {
				w.report.Blank++
				continue
			}
			w.report.Messages++
			if err := line(out, c.entry(&list[i], w.content(list[i].Data.Content))); err != nil {
				return err
			}
		}
		if len(list) < messagesAtOnce {
			return nil
		}
	}
}

func isoTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
