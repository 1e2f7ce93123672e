package collaborate

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	decide "github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/tools"
)

// output is what the tool answers.
type output struct {
	Success    bool   `json:"success"`
	ThreadID   string `json:"threadId,omitempty"`
	ThreadName string `json:"threadName,omitempty"`
	ChannelID  string `json:"channelId,omitempty"`
	MessageID  string `json:"messageId,omitempty"`
	Note       string `json:"note,omitempty"`

	CollabID  string `json:"collabId,omitempty"`
	Status    string `json:"status,omitempty"`    // accepted, sent, failed, delivery_unknown
	Duplicate bool   `json:"duplicate,omitempty"` // the same was asked before: this is what has become of it
	Masked    bool   `json:"masked,omitempty"`    // secrets in the message were replaced before it was posted

	Error     string `json:"error,omitempty"`
	Code      string `json:"code,omitempty"`
	Field     string `json:"field,omitempty"`
	Mend      string `json:"mend,omitempty"`
	ResetAtMs int64  `json:"resetAtMs,omitempty"` // when the two may ask each other again
}

// refuse says why a request was not taken on.
func refuse(no *collaborate.Refusal) (tool.Output, error) {
	return tools.Refuse(output{Error: coordination.Mask(no.Text), Code: no.Reason, Field: no.Field, Mend: no.Mend, ResetAtMs: no.ResetAt})
}

// settled is a request when its end is known, or when there was time enough for that.
func (d *Desk) settled(ctx context.Context, collabID string) (*response.Row, error) {
	waiting, cancel := context.WithTimeout(ctx, d.o.Wait)
	defer cancel()
	for {
		head, err := d.o.Log.Head(ctx)
		if err != nil {
			return nil, err
		}
		row, found, err := d.load(ctx, collabID)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, fmt.Errorf("request %s was taken on, and is not there", collabID)
		case row.Delivery != collaborate.StatusAccepted:
			return &row, nil
		}
		if _, err = d.o.Log.Wait(waiting, head.Seq+1); err == nil {
			continue
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded) || waiting.Err() != nil:
			return &row, nil
		}
		return nil, err
	}
}

func (d *Desk) load(ctx context.Context, collabID string) (row response.Row, found bool, err error) {
	err = d.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		row, found, err = response.Load(projections.Reading(ctx, tx), collabID)
		return err
	})
	return row, found, err
}

// noteUnderWay is told where the end is not known yet.
const noteUnderWay = "The request is under way and will be posted as soon as Discord takes it. Do not send it again; go on with other work."

// answer says what has become of a request.
func (a *asking) answer(row *response.Row) (tool.Output, error) {
	out := output{ThreadID: row.ThreadID, ThreadName: row.ThreadName, ChannelID: row.ChannelID, CollabID: row.ID, Status: string(row.Delivery),
		Duplicate: a.duplicate, Masked: a.masked}
	if len(row.MessageIDs) > 0 {
		out.MessageID = row.MessageIDs[0]
	}
	target := nameOf(a.call.Config, row.TargetAgent)
	switch row.Delivery {
	case collaborate.StatusAccepted:
		out.Success, out.Note = true, noteUnderWay
		return tools.Answer(out)
	case collaborate.StatusSent:
		out.Success, out.Note = true, decide.Note(target)
		if row.Route == collaborate.RouteShared {
			out.Note = decide.SharedNote(target)
		}
		return tools.Answer(out)
	}
	out.Code = cmp.Or(row.Code, string(row.Delivery))
	out.Error, out.Mend = failureText(out.Code)
	return tools.Refuse(out)
}

// failureWords says the same as failureText to people.
func failureWords(in coordination.Language, code string) (text, mend string) {
	if in != coordination.Korean {
		return failureText(code)
	}
	switch code {
	case collaborate.CodeDenied:
		return "봇에게 그곳에 글을 쓸 권한이 없습니다", "그 채널에서 봇에게 채널 보기, 스레드에서 메시지 보내기, 공개 스레드 만들기 권한을 주세요"
	case collaborate.CodeNotFound:
		return "채널이나 스레드가 더 이상 없습니다", "다른 채널을 지정해 다시 요청하게 하세요"
	case collaborate.CodeUnauthorized:
		return "Discord가 봇의 토큰을 받아들이지 않습니다", "channels.discord.accounts에 올바른 토큰을 넣으세요"
	case collaborate.CodeRateLimited:
		return "Discord가 지금은 요청을 더 받지 않습니다", "몇 분 뒤 다시 요청하게 하세요"
	case collaborate.CodeTimeout, collaborate.CodeUnavailable:
		return "여러 번 시도했지만 Discord가 응답하지 않았습니다", "나중에 다시 요청하게 하세요"
	case collaborate.CodeUnknown:
		return "Discord의 응답이 유실되어 요청이 스레드에 있는지 알 수 없습니다", "다시 요청하기 전에 스레드를 확인하세요"
	}
	return "요청을 게시하지 못했습니다", "openclawd collaborations 명령으로 알려진 내용을 확인하세요"
}

// failureText says what a code of a request that was given up means, and what to do.
func failureText(code string) (text, mend string) {
	switch code {
	case collaborate.CodeDenied:
		return "Discord does not let the bot write there", "give the bot the permissions View Channel, Send Messages in Threads and Create Public " +
			"Threads in that channel; until then tell a person, or use sessions_send"
	case collaborate.CodeNotFound:
		return "the channel or thread is not there any more", "leave threadId out, or name another channelId"
	case collaborate.CodeUnauthorized:
		return "Discord does not accept the bot's token", "put a valid token into channels.discord.accounts"
	case collaborate.CodeRateLimited:
		return "Discord takes no more for now", "wait some minutes, then ask again"
	case collaborate.CodeTimeout, collaborate.CodeUnavailable:
		return "Discord did not answer, however often it was tried", "try again later, or use sessions_send"
	case collaborate.CodeUnknown:
		return "nobody knows whether the request stands in the thread: Discord's answer was lost", "look into the thread before you ask again"
	}
	return "the request could not be posted", "tell a person: openclawd collaborations shows what is known"
}

// nameOf is how people call an agent.
func nameOf(conf *config.Config, agent string) string {
	if a := conf.AgentNamed(agent); a != nil {
		return cmp.Or(strings.TrimSpace(a.Name), agent)
	}
	return agent
}

// masking takes secrets out of a text, and notes that there were some.
func masking(text string, found *bool) string {
	masked := coordination.Mask(text)
	*found = *found || masked != text
	return masked
}
