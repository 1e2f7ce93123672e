package collabtools

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
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/tools"
)

type output struct {
	Success    bool   `json:"success"`
	ThreadID   string `json:"threadId,omitempty"`
	ThreadName string `json:"threadName,omitempty"`
	ChannelID  string `json:"channelId,omitempty"`
	MessageID  string `json:"messageId,omitempty"`
	Note       string `json:"note,omitempty"`

	CollabID  string `json:"collabId,omitempty"`
	Status    string `json:"status,omitempty"`    // accepted, sent, failed, delivery_unknown
	Duplicate bool   `json:"duplicate,omitempty"` // repetition of an earlier request, whose state this is
	Masked    bool   `json:"masked,omitempty"`    // secrets in the message were masked before posting

	Error     string `json:"error,omitempty"`
	Code      string `json:"code,omitempty"`
	Field     string `json:"field,omitempty"`
	Hint      string `json:"hint,omitempty"`
	ResetAtMs int64  `json:"resetAtMs,omitempty"` // when the two may ask each other again
}

func refuse(no *collaborate.Refusal) (tool.Output, error) {
	return tools.Refuse(output{Error: coordination.Mask(no.Text), Code: no.Reason, Field: no.Field, Hint: no.HintText, ResetAtMs: no.ResetAt})
}

// settled waits a while for the outcome of a request and returns its state.
func (s *Service) settled(ctx context.Context, collabID string) (*responses.Row, error) {
	waiting, cancel := context.WithTimeout(ctx, s.o.Wait)
	defer cancel()
	for {
		head, err := s.o.Log.Head(ctx)
		if err != nil {
			return nil, err
		}
		row, found, err := s.load(ctx, collabID)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, fmt.Errorf("request %s was accepted but is missing", collabID)
		case row.Delivery != collaborate.StatusAccepted:
			return &row, nil
		}
		if _, err = s.o.Log.Wait(waiting, head.Seq+1); err == nil {
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

func (s *Service) load(ctx context.Context, collabID string) (row responses.Row, found bool, err error) {
	err = s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		row, found, err = responses.Load(projections.Reading(ctx, tx), collabID)
		return err
	})
	return row, found, err
}

// noteUnderWay is the note while the outcome is unknown.
func noteUnderWay(channel string) string {
	return "The request is under way and will be posted as soon as " + titleOf(channel) + " takes it. Do not send it again; go on with other work."
}

func (a *toolCall) answer(row *responses.Row) (tool.Output, error) {
	out := output{ThreadID: row.ThreadID, ThreadName: row.ThreadName, ChannelID: row.ChannelID, CollabID: row.ID, Status: string(row.Delivery),
		Duplicate: a.duplicate, Masked: a.masked}
	if len(row.MessageIDs) > 0 {
		out.MessageID = row.MessageIDs[0]
	}
	target := nameOf(a.call.Config, row.TargetAgent)
	switch row.Delivery {
	case collaborate.StatusAccepted:
		out.Success, out.Note = true, noteUnderWay(channelOf(row))
		return tools.Answer(out)
	case collaborate.StatusSent:
		out.Success, out.Note = true, response.Note(target)
		if row.Route == collaborate.RouteShared {
			out.Note = response.SharedNote(target)
		}
		return tools.Answer(out)
	}
	out.Code = cmp.Or(row.Code, string(row.Delivery))
	out.Error, out.Hint = failureText(channelOf(row), out.Code)
	return tools.Refuse(out)
}

// failureWords is failureText for people.
func failureWords(in coordination.Language, channel, code string) (text, hint string) {
	if in != coordination.Korean {
		return failureText(channel, code)
	}
	title := titleOf(channel)
	switch code {
	case collaborate.CodeDenied:
		return "봇에게 그곳에 글을 쓸 권한이 없습니다", rightsOf(channel).korean
	case collaborate.CodeNotFound:
		return "채널이나 스레드가 더 이상 없습니다", "다른 채널을 지정해 다시 요청하게 하세요"
	case collaborate.CodeUnauthorized:
		return "봇의 토큰이 " + title + "에서 유효하지 않습니다", "channels." + channel + ".accounts에 올바른 토큰을 넣으세요"
	case collaborate.CodeRateLimited:
		return title + "에서 지금은 요청을 더 받지 않습니다", "몇 분 뒤 다시 요청하게 하세요"
	case collaborate.CodeTimeout, collaborate.CodeUnavailable:
		return "여러 번 시도했지만 " + title + "에서 응답이 없었습니다", "나중에 다시 요청하게 하세요"
	case collaborate.CodeUnknown:
		return title + "의 응답이 유실되어 요청이 스레드에 있는지 알 수 없습니다", "다시 요청하기 전에 스레드를 확인하세요"
	}
	return "요청을 게시하지 못했습니다", "openclawd collaborations 명령으로 알려진 내용을 확인하세요"
}

// failureText explains the failure code of a request in a channel and what to do.
func failureText(channel, code string) (text, hint string) {
	title := titleOf(channel)
	switch code {
	case collaborate.CodeDenied:
		return title + " does not let the bot write there", rightsOf(channel).english + "; until then tell a person, or use sessions_send"
	case collaborate.CodeNotFound:
		return "the channel or thread no longer exists", "leave threadId out, or name another channelId"
	case collaborate.CodeUnauthorized:
		return title + " does not accept the bot's token", "put a valid token into channels." + channel + ".accounts"
	case collaborate.CodeRateLimited:
		return title + " takes no more for now", "wait some minutes, then ask again"
	case collaborate.CodeTimeout, collaborate.CodeUnavailable:
		return title + " did not answer in spite of several attempts", "try again later, or use sessions_send"
	case collaborate.CodeUnknown:
		return "it is unknown whether the request was posted in the thread: " + title + "'s answer was lost", "check the thread before you ask again"
	}
	return "the request could not be posted", "tell a person: openclawd collaborations shows what is known"
}

// rights say what a bot needs to post requests.
type rights struct{ english, korean string }

func rightsOf(channel string) rights {
	switch channel {
	case coordination.Telegram:
		return rights{"make the bot an administrator of the group with the right to manage topics, and let it send messages",
			"봇을 그룹의 관리자로 지정하고 토픽 관리와 메시지 보내기를 허용하세요"}
	case coordination.Slack:
		return rights{"invite the app to that channel, and give it the scope chat:write", "그 채널에 앱을 초대하고 chat:write 권한을 주세요"}
	}
	return rights{"give the bot the permissions View Channel, Send Messages in Threads and Create Public Threads in that channel",
		"그 채널에서 봇에게 채널 보기, 스레드에서 메시지 보내기, 공개 스레드 만들기 권한을 주세요"}
}

func nameOf(conf *config.Config, agent string) string {
	if a := conf.AgentNamed(agent); a != nil {
		return cmp.Or(strings.TrimSpace(a.Name), agent)
	}
	return agent
}

// masking masks secrets in a text and reports whether there were any.
func masking(text string, found *bool) string {
	masked := coordination.Mask(text)
	*found = *found || masked != text
	return masked
}
