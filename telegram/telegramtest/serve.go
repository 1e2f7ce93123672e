package telegramtest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// handler performs a method under the lock, and returns its result.
type handler func(c *call) (any, *Error)

// methods maps names of methods in lower case, as Telegram ignores their case. getUpdates is not among them.
func (s *Server) methods() map[string]handler {
	return map[string]handler{
		"getme": s.getMe, "getchat": s.getChat, "getchatmember": s.getChatMember, "getchatadministrators": s.getChatAdministrators,
		"getchatmembercount": s.getChatMemberCount, "leavechat": s.leaveChat,
		"setwebhook": s.setWebhook, "deletewebhook": s.deleteWebhook, "getwebhookinfo": s.getWebhookInfo,
		"sendmessage": s.sendMessage, "sendphoto": s.sendPhoto, "senddocument": s.sendDocument, "sendchataction": s.sendChatAction,
		"editmessagetext": s.editMessageText, "editmessagereplymarkup": s.editMessageReplyMarkup, "deletemessage": s.deleteMessage,
		"setmessagereaction": s.setMessageReaction, "answercallbackquery": s.answerCallbackQuery, "getfile": s.getFile,
		"createforumtopic": s.createForumTopic, "closeforumtopic": s.closeForumTopic, "reopenforumtopic": s.reopenForumTopic,
		"setmycommands": s.setMyCommands, "getmycommands": s.getMyCommands, "deletemycommands": s.deleteMyCommands,
	}
}

type success struct {
	OK     bool `json:"ok"`
	Result any  `json:"result"`
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		write(w, http.StatusRequestEntityTooLarge, &Error{Code: http.StatusRequestEntityTooLarge, Description: "Request Entity Too Large"})
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if rest, is := strings.CutPrefix(path, "file/bot"); is {
		s.download(w, rest)
		return
	}
	token, method, found := strings.Cut(strings.TrimPrefix(path, "bot"), "/")
	if !found || !strings.HasPrefix(path, "bot") || !strings.Contains(token, ":") {
		write(w, http.StatusNotFound, &Error{Code: http.StatusNotFound, Description: "Not Found"})
		return
	}
	c := &call{r: r, method: method}
	refusal := c.read(body)

	s.mu.Lock()
	c.by = s.byToken(token)
	record, effect := s.arrived(c)
	s.mu.Unlock()

	if effect.before != nil && !effect.before(s, w, r) {
		s.answered(record, 0)
		return
	}
	var result any
	switch {
	case effect.refusal != nil:
		refusal = effect.refusal
	case refusal == nil && strings.EqualFold(method, "getUpdates"):
		result, refusal = s.getUpdates(c, effect)
	case refusal == nil:
		s.mu.Lock()
		result, refusal = s.perform(c)
		s.mu.Unlock()
	}
	if refusal == dropped {
		cutRequest(s, w, r)
		s.answered(record, 0)
		return
	}
	if effect.after != nil && !effect.after(s, w, r) {
		s.answered(record, 0)
		return
	}
	if refusal == nil && effect.denied != nil {
		refusal = effect.denied
	}
	status, answer := http.StatusOK, any(success{true, result})
	if refusal != nil {
		status, answer = refusal.Code, refusal
	}
	s.answered(record, status)
	write(w, status, answer)
}

// perform runs a method. The lock is held.
func (s *Server) perform(c *call) (any, *Error) {
	if c.by == nil || c.by.revoked {
		return nil, unauthorized()
	}
	do := s.methods()[strings.ToLower(c.method)]
	if do == nil {
		return nil, &Error{Code: http.StatusNotFound, Description: "Not Found: method not found"}
	}
	if refusal := s.charge(c); refusal != nil {
		return nil, refusal
	}
	result, refusal := do(c)
	if refusal == nil {
		s.happened()
	}
	return result, refusal
}

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(answer)) // a client that has left reads nothing
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("telegramtest: encode an answer: " + err.Error())
	}
	return text
}
