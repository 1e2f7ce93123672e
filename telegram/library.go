package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	api "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// apiRoot is where Telegram answers bots.
const apiRoot = "https://api.telegram.org"

// library implements wire with go-telegram/bot.
//
// Its loop for updates is not used: it confirms updates before they are handled, so that a kill would lose them. Its
// logging is off, for it logs what it receives. Its errors are not used: those of the answer say more.
type library struct {
	own       *api.Bot
	token     string
	transport http.RoundTripper
	userAgent string
}

func newLibrary(token, userAgent string, transport http.RoundTripper) (*library, error) {
	w := &library{token: token, transport: transport, userAgent: userAgent}
	own, err := api.New(token, api.WithSkipGetMe(), api.WithHTTPClient(0, w), api.WithErrorsHandler(func(error) {}),
		api.WithDebugHandler(func(string, ...any) {}), api.WithServerURL(apiRoot))
	if err != nil {
		return nil, errors.New("telegram: the token is empty")
	}
	w.own = own
	return w, nil
}

func (w *library) ask(ctx context.Context, f form) (answer, error) {
	var a answer
	trace := httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { a.sent = true }}
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, answerKey{}, &a), &trace)
	err := w.call(ctx, f)
	if a.status != 0 {
		if a.status != http.StatusOK { // refusals are shown
			a.body = bytes.ReplaceAll(a.body, []byte(w.token), []byte("***"))
		}
		return a, nil
	}
	return a, w.scrub(err)
}

// scrub removes the token from an error of the network: URLs contain it.
func (w *library) scrub(err error) error {
	if around, is := errors.AsType[*url.Error](err); is {
		err = around.Err
	}
	if err != nil && strings.Contains(err.Error(), w.token) {
		return errors.New(strings.ReplaceAll(err.Error(), w.token, "***"))
	}
	return err
}

// call makes the request. Its error is used only if there was no answer.
func (w *library) call(ctx context.Context, f form) (err error) {
	switch f := f.(type) {
	case updatesForm:
		return w.updates(ctx, f)
	case meForm:
		_, err = w.own.GetMe(ctx)
	case setWebhookForm:
		_, err = w.own.SetWebhook(ctx, &api.SetWebhookParams{URL: f.url, SecretToken: f.secret, MaxConnections: 1, AllowedUpdates: allowedUpdates})
	case dropWebhookForm:
		_, err = w.own.DeleteWebhook(ctx, &api.DeleteWebhookParams{})
	case webhookForm:
		_, err = w.own.GetWebhookInfo(ctx)
	case sendForm:
		err = w.send(ctx, f)
	case editForm:
		_, err = w.own.EditMessageText(ctx, &api.EditMessageTextParams{ChatID: f.chat, MessageID: f.message, Text: f.text, ParseMode: modeOf(f.markdown),
			LinkPreviewOptions: noPreview()})
	case typingForm:
		_, err = w.own.SendChatAction(ctx, &api.SendChatActionParams{ChatID: f.chat, MessageThreadID: f.topic, Action: models.ChatActionTyping})
	case reactForm:
		_, err = w.own.SetMessageReaction(ctx, f.params())
	case topicForm:
		_, err = w.own.CreateForumTopic(ctx, &api.CreateForumTopicParams{ChatID: f.chat, Name: f.name})
	case pressedForm:
		_, err = w.own.AnswerCallbackQuery(ctx, &api.AnswerCallbackQueryParams{CallbackQueryID: f.query, Text: f.text, ShowAlert: f.alert})
	case commandsForm:
		_, err = w.own.GetMyCommands(ctx, &api.GetMyCommandsParams{})
	case setCommandsForm:
		_, err = w.own.SetMyCommands(ctx, f.params())
	case fileForm:
		_, err = w.own.GetFile(ctx, &api.GetFileParams{FileID: f.id})
	case chatForm:
		_, err = w.own.GetChat(ctx, &api.GetChatParams{ChatID: f.chat})
	case memberForm:
		_, err = w.own.GetChatMember(ctx, &api.GetChatMemberParams{ChatID: f.chat, UserID: f.user})
	}
	return err
}

// send posts a text, a picture or another file.
func (w *library) send(ctx context.Context, f sendForm) (err error) {
	text := f.params()
	switch {
	case f.file == nil:
		_, err = w.own.SendMessage(ctx, text)
	case f.photo:
		_, err = w.own.SendPhoto(ctx, &api.SendPhotoParams{ChatID: f.chat, MessageThreadID: f.topic, ReplyParameters: text.ReplyParameters, Photo: f.upload()})
	default:
		_, err = w.own.SendDocument(ctx, &api.SendDocumentParams{ChatID: f.chat, MessageThreadID: f.topic, ReplyParameters: text.ReplyParameters, Document: f.upload()})
	}
	return err
}

func (f sendForm) upload() models.InputFile {
	return &models.InputFileUpload{Filename: f.file.Name, Data: bytes.NewReader(f.file.Content)}
}

func (f sendForm) params() *api.SendMessageParams {
	p := &api.SendMessageParams{ChatID: f.chat, MessageThreadID: f.topic, Text: f.text, ParseMode: modeOf(f.markdown), LinkPreviewOptions: noPreview()}
	if f.replyTo != 0 {
		p.ReplyParameters = &models.ReplyParameters{MessageID: f.replyTo, AllowSendingWithoutReply: true}
	}
	switch {
	case f.ask:
		p.ReplyMarkup = &models.ForceReply{ForceReply: true, Selective: f.replyTo != 0}
	case len(f.keyboard) > 0:
		p.ReplyMarkup = map[string]json.RawMessage{"inline_keyboard": f.keyboard}
	}
	return p
}

func (f reactForm) params() *api.SetMessageReactionParams {
	p := &api.SetMessageReactionParams{ChatID: f.chat, MessageID: f.message, Reaction: []models.ReactionType{}}
	if f.emoji != "" {
		p.Reaction = append(p.Reaction, models.ReactionType{Type: models.ReactionTypeTypeEmoji,
			ReactionTypeEmoji: &models.ReactionTypeEmoji{Type: models.ReactionTypeTypeEmoji, Emoji: f.emoji}})
	}
	return p
}

func (f setCommandsForm) params() *api.SetMyCommandsParams {
	p := &api.SetMyCommandsParams{}
	for _, c := range f.commands {
		p.Commands = append(p.Commands, models.BotCommand{Command: c.Name, Description: c.Description})
	}
	return p
}

func modeOf(markdown bool) models.ParseMode {
	if markdown {
		return models.ParseModeMarkdown // MarkdownV2
	}
	return ""
}

// noPreview leaves out the preview of the first link.
func noPreview() *models.LinkPreviewOptions {
	yes := true
	return &models.LinkPreviewOptions{IsDisabled: &yes}
}

// updates makes the request that the library makes only in its loop.
func (w *library) updates(ctx context.Context, f updatesForm) error {
	body, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("encode a request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, apiRoot+"/bot"+w.token+"/getUpdates", bytes.NewReader(body))
	if err != nil {
		return errors.New("the token cannot be part of an address")
	}
	r.GetBody = nil // a request is made once
	r.Header.Set("Content-Type", "application/json")
	response, err := w.Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

func (w *library) file(ctx context.Context, path string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, apiRoot+"/file/bot"+w.token+"/"+path, http.NoBody)
	if err != nil {
		return nil, errors.New("the token cannot be part of an address")
	}
	r.Header.Set("User-Agent", w.userAgent)
	return r, nil
}

// answerKey is the key of the *answer that a request's context holds.
type answerKey struct{}

// Do implements the library's HTTP client: it keeps the raw answer, and follows no redirect, so that the token is sent
// nowhere else.
func (w *library) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("User-Agent", w.userAgent)
	response, err := w.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	if a, is := r.Context().Value(answerKey{}).(*answer); is {
		a.status, a.body = response.StatusCode, body
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
