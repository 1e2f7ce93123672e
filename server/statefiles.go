package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// The original's state files beside its log, and the limits on what is read of each.
const (
	participantsFile = "thread-participants.json"
	mentionsFile     = "a2a-mention-tracking.json"
	indexFile        = "a2a-conversation-index.json"

	stateDirectory   = "state"  // path in some releases
	maxStateFile     = 16 << 20 // bytes
	maxStateEntries  = 20_000
	maxStateID       = 200 // bytes of an id
	reasonOfOriginal = "original"
)

// stateFiles imports the original's state files when this program takes its place: participants of threads, requests waiting for an answer,
// and open conversations. Each entry becomes an event whose id derives from its content, so that reading a file again adds nothing. An
// unreadable file is reported and skipped.
type stateFiles struct {
	p      *Program
	dir    string
	now    time.Time
	logger *slog.Logger
}

func (p *Program) importState(ctx context.Context) {
	if p.withoutAgents() || p.agents == nil {
		return
	}
	s := &stateFiles{p: p, dir: p.opts.StateDir, now: p.opts.Now(), logger: p.opts.Logger.With("component", "import")}
	for _, file := range []struct {
		name string
		take func(ctx context.Context, text []byte) (taken, left int, err error)
	}{{participantsFile, s.participants}, {mentionsFile, s.mentions}, {indexFile, s.index}} {
		path, text, err := s.read(file.name)
		if err == nil && text == nil {
			continue
		}
		taken, left := 0, 0
		if err == nil {
			taken, left, err = file.take(ctx, text)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.logger.Error("cannot read a state file of the original; skipping it", "file", path, "err", err,
				"hint", "fix or remove it; it is read again at the next start")
		case taken+left > 0:
			s.logger.Info("imported a state file of the original", "file", path, "entries", taken, "left_out", left)
		}
	}
}

// read is the content of a state file, nil if there is none.
func (s *stateFiles) read(name string) (path string, text []byte, err error) {
	for _, path = range []string{filepath.Join(s.dir, stateDirectory, name), filepath.Join(s.dir, name)} {
		is, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return path, nil, err
		case !is.Mode().IsRegular():
			return path, nil, errors.New("not a regular file")
		case s.isDatabase(is):
			return path, nil, errors.New("it is the database")
		case is.Size() > maxStateFile:
			return path, nil, fmt.Errorf("%d bytes exceed the limit of %d", is.Size(), maxStateFile)
		}
		file, err := os.Open(path)
		if err != nil {
			return path, nil, err
		}
		text, err = io.ReadAll(io.LimitReader(file, maxStateFile))
		return path, text, errors.Join(err, file.Close())
	}
	return path, nil, nil
}

// isDatabase reports whether a file is the live database under another name.
func (s *stateFiles) isDatabase(is fs.FileInfo) bool {
	live, err := os.Stat(s.p.opts.DB)
	return err == nil && os.SameFile(live, is)
}

// idOf derives an entry's event id from its content.
func idOf(ms int64, file string, said ...string) eventstore.ID {
	return eventstore.DerivedID(ms, sha256.Sum256(fmt.Appendf(nil, "%q %q", file, said)))
}

func validID(id string) bool {
	return id != "" && len(id) <= maxStateID && strings.ToValidUTF8(id, "") == id && !strings.ContainsRune(id, 0)
}

// since reports whether a timestamp is plausible: ms since 1970, and not in the future.
func (s *stateFiles) since(ms float64) bool { return ms > 0 && ms <= float64(s.now.UnixMilli()) }

// agentOf is the agent for which a bot speaks, "" if unknown.
func (s *stateFiles) agentOf(bot string) string {
	for _, b := range s.p.agents.discord.bots.Registry().Bots() {
		if bot != "" && b.UserID == bot {
			return b.AgentID
		}
	}
	return ""
}

func (s *stateFiles) participants(ctx context.Context, text []byte) (taken, left int, err error) {
	type entry struct {
		ThreadID       string   `json:"threadId"`
		Participants   []string `json:"participants"` // user ids of bots
		LastActivityAt float64  `json:"lastActivityAt"`
	}
	var file struct {
		Threads json.RawMessage `json:"threads"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return 0, 0, err
	}
	threads, err := entriesOf[entry](file.Threads, "threads")
	if err != nil {
		return 0, 0, err
	}
	for _, key := range slices.Sorted(maps.Keys(threads)) {
		t := threads[key]
		thread := cmp.Or(t.ThreadID, key)
		for _, bot := range t.Participants {
			agent := s.agentOf(bot)
			if agent == "" || !validID(thread) || !s.since(t.LastActivityAt) {
				left++
				continue
			}
			at := int64(t.LastActivityAt)
			data, err := json.Marshal(coordination.ThreadParticipant{Context: coordination.Context{EventRole: coordination.RoleObservability},
				ThreadID: thread, AgentID: agent, BotUserID: bot, Reason: reasonOfOriginal})
			if err != nil {
				return taken, left, err
			}
			e := eventstore.NewEvent{ID: idOf(at, participantsFile, thread, agent, bot), Type: coordination.TypeThreadParticipantRegistered, AgentID: agent,
				Actor: eventstore.ActorSystem, Data: data}.WithTS(at)
			if _, err := s.p.log.Append(ctx, eventstore.StreamAppend{Stream: coordination.ThreadStream(thread), Events: []eventstore.NewEvent{e}}); err != nil {
				return taken, left, err
			}
			taken++
		}
	}
	return taken, left, nil
}

// entriesOf returns the entries of an object, or of a list, by key.
func entriesOf[E any](text json.RawMessage, what string) (map[string]E, error) {
	entries := map[string]E{}
	if len(text) == 0 {
		return entries, nil
	}
	var list []E
	if json.Unmarshal(text, &list) == nil {
		for i, one := range list {
			entries[fmt.Sprintf("%06d", i)] = one
		}
	} else if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if len(entries) > maxStateEntries {
		return nil, fmt.Errorf("%s: %d entries exceed the limit of %d", what, len(entries), maxStateEntries)
	}
	return entries, nil
}

// mentions imports requests waiting for an answer. Those that are over, or older than requests are kept, are left out.
func (s *stateFiles) mentions(ctx context.Context, text []byte) (taken, left int, err error) {
	type entry struct {
		ID           string  `json:"id"`
		MessageID    string  `json:"messageId"`
		ThreadID     string  `json:"threadId"`
		FromAgent    string  `json:"fromAgentId"`
		TargetAgent  string  `json:"targetAgentId"`
		TargetBot    string  `json:"targetBotId"`
		OriginalText string  `json:"originalText"`
		Original     string  `json:"originalMessage"`
		Status       string  `json:"status"`
		SentAt       float64 `json:"sentAt"`
	}
	whole := json.RawMessage(text)
	var file map[string]json.RawMessage
	if json.Unmarshal(text, &file) == nil {
		for _, name := range []string{"mentions", "entries", "pending", "tracked"} {
			if in, has := file[name]; has {
				whole = in
			}
		}
	}
	entries, err := entriesOf[entry](whole, "entries")
	if err != nil {
		return 0, 0, err
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		m := entries[key]
		id, from, target := cmp.Or(m.ID, key), strings.ToLower(m.FromAgent), strings.ToLower(m.TargetAgent)
		if m.Status != "pending" || !validID(id) || !validID(m.ThreadID) || !validID(from) || !validID(target) || !s.since(m.SentAt) ||
			s.now.UnixMilli()-int64(m.SentAt) >= response.Keep.Milliseconds() {
			left++
			continue
		}
		own, has := s.p.agents.discord.bots.Registry().Bot(from)
		asked, there := s.p.agents.discord.bots.Registry().Bot(target)
		if !has || !there { // there is no agent to remind
			left++
			continue
		}
		at := int64(m.SentAt)
		sent := collaborate.Sent{RequestID: reasonOfOriginal + "-" + id, ThreadID: m.ThreadID, ChannelID: m.ThreadID, FromAgent: from, FromAccount: own.AccountID, TargetAgent: target,
			TargetBot: cmp.Or(asked.UserID, m.TargetBot), Original: response.Original(cmp.Or(m.OriginalText, m.Original)), SentAt: at}
		if validID(m.MessageID) {
			sent.MessageIDs = []string{m.MessageID}
		}
		_, err := s.p.log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			return s.p.agents.requests.Adopt(tx, sent, idOf(at, mentionsFile, id), s.now)
		})
		if err != nil {
			return taken, left, err
		}
		taken++
	}
	return taken, left, nil
}

// index imports open conversations that the log does not have, or only an older version of.
func (s *stateFiles) index(ctx context.Context, text []byte) (taken, left int, err error) {
	type entry struct {
		ConversationID string  `json:"conversationId"`
		Timestamp      float64 `json:"timestamp"`
		LastEventType  string  `json:"lastEventType"`
		RunID          string  `json:"runId"`
	}
	var file struct {
		Entries json.RawMessage `json:"entries"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return 0, 0, err
	}
	entries, err := entriesOf[entry](file.Entries, "entries")
	if err != nil {
		return 0, 0, err
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		x := entries[key]
		ws, pair, cut := strings.Cut(key, "::")
		from, to, two := strings.Cut(pair, "|")
		switch x.LastEventType {
		case coordination.TypeA2ASend, coordination.TypeA2AResponse, coordination.TypeA2AComplete:
		default:
			x.LastEventType = coordination.TypeA2AComplete
		}
		if !cut || !two || !validID(ws) || !validID(from) || !validID(to) || !validID(x.ConversationID) || !s.since(x.Timestamp) {
			left++
			continue
		}
		if !validID(x.RunID) {
			x.RunID = ""
		}
		data, err := json.Marshal(map[string]string{"fromAgent": from, "toAgent": to, "conversationId": x.ConversationID, "workSessionId": ws,
			"runId": x.RunID, "eventRole": string(coordination.RoleConversation)})
		if err != nil {
			return taken, left, err
		}
		at := int64(x.Timestamp)
		e := eventstore.NewEvent{ID: idOf(at, indexFile, key, x.ConversationID, x.LastEventType, x.RunID), Type: x.LastEventType, AgentID: from,
			Actor: eventstore.ActorImport, CorrelationID: x.ConversationID, Data: data}.WithTS(at)
		known := false
		_, err = s.p.log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			route, found, err := conversations.RouteOf(tx, ws, from, to)
			if known = found && route.Time >= x.Timestamp; err != nil || known {
				return nil, err
			}
			return []eventstore.StreamAppend{{Stream: "conversation/" + x.ConversationID, Events: []eventstore.NewEvent{e}}}, nil
		})
		switch {
		case err != nil:
			return taken, left, err
		case known:
			left++
		default:
			taken++
		}
	}
	return taken, left, nil
}
