package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/attachments"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/gateway"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/media"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/sendtools"
	"github.com/pronto-lab/openclawd/workspace"
)

// attachmentSlots is the maximum number of messages whose files are fetched concurrently.
const attachmentSlots = 4

// maxShownPicture is the size limit of a picture that models are shown, in bytes.
const maxShownPicture = 5_000_000

// openFiles returns the store of the files of messages.
func (p *Program) openFiles() *media.Store {
	return media.Open(database.MediaDir(p.log.Path()), func() int64 { return p.newConfiguration().InForce().Media.MaxTotal })
}

// attachmentsTask fetches the files of messages.
func (p *Program) attachmentsTask(a *agents) worker.Handler {
	if err := p.files.Clean(); err != nil {
		a.logger.Warn("cannot remove unfinished files", "err", err)
	}
	inForce := p.newConfiguration().InForce
	service := attachments.New(attachments.Options{
		Bots: func(name string) channel.Fetcher {
			for _, side := range a.sides() {
				if side.name == name {
					return side.bots
				}
			}
			return nil
		},
		Store: p.files, Logger: a.logger,
		Limit: func(name, account string) int64 { return inForce().Channel(name).MediaLimit(account) },
		Deposit: func(agentID, id, name string, content io.Reader) (string, error) {
			return workspace.Deposit(p.workspaceOf(agentID), p.protected(), id, name, content)
		},
	})
	return worker.Task(worker.Policy{MaxAttempts: attachments.DefaultAttempts, Timeout: attachments.Timeout}, service.Do)
}

// picture is a stored picture for a model; nil if there is none, or it is too large.
func (p *Program) picture(sha256 string) []byte {
	content, err := p.files.Read(sha256, maxShownPicture)
	if err != nil {
		p.opts.Logger.Debug("a picture is not shown to a model", "file", sha256, "err", err)
		return nil
	}
	return content
}

// maxPosted is the size limit of a file that agents post, in bytes: no channel takes more.
const maxPosted = 50 << 20

// postedFile is a stored file to post.
func (p *Program) postedFile(sha256 string) ([]byte, error) { return p.files.Read(sha256, maxPosted) }

// errFull tells an agent that its file cannot be stored.
var errFull = &tool.Error{Code: tool.CodeUnavailable, Field: "/path", Text: "the files that openclawd keeps have reached media.maxTotalMb",
	Hint: "post a text; a person can raise media.maxTotalMb, or lower media.ttlHours"}

// keepPosted stores a file to post.
func (p *Program) keepPosted(most int64, fetch func(io.Writer) error) (delivery.File, error) {
	info, err := p.files.Put(min(most, maxPosted), fetch)
	switch {
	case errors.Is(err, media.ErrFull):
		err = errFull
	case errors.Is(err, media.ErrTooLarge):
		err = &tool.Error{Code: tool.CodeTooLarge, Field: "/path", Text: fmt.Sprintf("the file is larger than %d MiB", most>>20)}
	}
	return delivery.File{Type: info.Type, Size: info.Bytes, SHA256: info.SHA256}, err
}

// clientFile stores a file that a gateway client posts, with the limit of the account that posts it.
func (a *agents) clientFile(inForce func() *config.Config) gateway.Media {
	return func(ctx context.Context, agent string, p *delivery.Post, source string) (delivery.File, error) {
		sends, err := allSends{a.sides}.in(p.Channel)
		if err != nil {
			return delivery.File{}, err
		}
		account, err := sends.Account(p)
		if err != nil {
			return delivery.File{}, err
		}
		return a.files.Of(ctx, &tools.Call{Config: inForce(), Caller: tool.Caller{AgentID: agent, Channel: p.Channel, AccountID: account}}, source)
	}
}

// answerMedia limits the storing of all files of an answer.
const answerMedia = time.Minute

// answerFiles stores the files that an agent's answer names, each of them once, if the agent may post it with the tool message without asking a
// person before.
func (a *agents) answerFiles(inForce func() *config.Config) func(context.Context, *coordination.RunQueued, string, string) []delivery.Named {
	return func(ctx context.Context, asked *coordination.RunQueued, agentID, text string) (all []delivery.Named) {
		_, sources := delivery.SplitMedia(text)
		caller := tool.Caller{Entry: tool.ByRun, AgentID: agentID, SessionKey: asked.SessionKey, RunID: asked.RunID, Channel: asked.Channel, To: asked.To,
			AccountID: asked.AccountID, ThreadID: asked.ThreadID}
		fetching, stop := context.WithTimeout(ctx, answerMedia)
		defer stop()
		for i, source := range sources {
			if slices.Contains(sources[:i], source) {
				continue
			}
			one := delivery.Named{Source: source, Refused: fmt.Sprintf("an answer has at most %d files", delivery.MaxFiles)}
			if len(all) < delivery.MaxFiles {
				one.File, one.Refused = a.answerFile(fetching, &tools.Call{Config: inForce(), Caller: caller}, source)
			}
			if one.Refused != "" {
				a.logger.Warn("a file that an answer names is not posted", "run", asked.RunID, "file", source, "why", one.Refused)
			}
			all = append(all, one)
		}
		return all
	}
}

// answerFile stores a file that an answer names, or says why not.
func (a *agents) answerFile(ctx context.Context, call *tools.Call, source string) (f delivery.File, refused string) {
	offered := a.tools.Offer(call.Caller)
	i := slices.IndexFunc(offered, func(s tool.Spec) bool { return s.Name == sendtools.Name })
	if i < 0 {
		return f, "the agent may not use the tool " + sendtools.Name
	}
	var err error
	if call.Args, err = json.Marshal(map[string]string{"path": source}); err != nil || !a.calls.Allows(call, &offered[i]) {
		return f, "tools.approvals does not allow it without asking: the agent can call the tool " + sendtools.Name
	}
	f, err = a.files.Of(ctx, call, source)
	if why, is := errors.AsType[*tool.Error](err); is {
		return f, why.Text
	}
	if err != nil {
		return f, "it could not be stored"
	}
	return f, ""
}

// storedFiles are the files of messages for the API.
type storedFiles struct{ of *media.Store }

// Get implements monitor.StoredFiles.
func (s storedFiles) Get(id string) (monitor.StoredFile, error) {
	f, err := s.of.Get(id)
	if err != nil {
		return monitor.StoredFile{}, err
	}
	return monitor.StoredFile{Content: f, Type: f.Info.Type, At: f.Info.At}, nil
}

// withdraw removes the copies of a stored file from all workspaces.
func (p *Program) withdraw(id string) error {
	for _, agent := range p.newConfiguration().InForce().Agents {
		if err := workspace.Withdraw(p.workspaceOf(agent.ID), id); err != nil {
			return err
		}
	}
	return nil
}

// storedFiles lists the stored files for a redaction, when none of them is being fetched: each is named by the log then, or by nothing.
func (p *Program) storedFiles(ctx context.Context) (forget func(named map[string]bool) (int, error), err error) {
	listed, err := p.files.List()
	if err != nil {
		return nil, err
	}
	if err := p.awaitFetched(ctx); err != nil {
		return nil, err
	}
	return func(named map[string]bool) (n int, err error) {
		for i := range listed {
			if named[listed[i].SHA256] {
				continue
			}
			gone, err := p.files.Remove(listed[i], p.withdraw)
			if err != nil {
				return n, err
			}
			if gone {
				n++
			}
		}
		return n, nil
	}, nil
}

// awaitFetched waits until no file is being fetched. Before agents work, none is.
func (p *Program) awaitFetched(ctx context.Context) error {
	const pause = 200 * time.Millisecond
	for p.agents != nil {
		var going []workqueue.Item
		err := p.log.View(ctx, func(tx *sql.Tx) (err error) {
			going, err = workqueue.List(ctx, tx, workqueue.Query{Kind: attach.Kind, State: workqueue.Leased, Limit: 1})
			return err
		})
		if err != nil || len(going) == 0 {
			return err
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// expireFiles removes stored files after media.ttlHours, until ctx ends.
func (p *Program) expireFiles(ctx context.Context) error {
	const every = time.Hour
	if p.agents == nil {
		return nil
	}
	for {
		if ttl := p.newConfiguration().InForce().Media.TTL; ttl > 0 {
			if err := p.files.RemoveBefore(time.Now().Add(-ttl), p.withdraw); err != nil {
				p.opts.Logger.Warn("cannot remove old files of messages; will retry", "err", err)
			}
		}
		if wait.For(ctx, every) != nil {
			return nil
		}
	}
}
