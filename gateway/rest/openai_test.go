package rest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	openai "github.com/sashabaranov/go-openai"
)

// A client that was made for OpenAI's API is served.
func TestAStockClientIsServed(t *testing.T) {
	t.Parallel()
	g := serve(t, setup{runs: newFakeRuns(echo)})
	config := openai.DefaultConfig(token)
	config.BaseURL, config.HTTPClient = g.url+"/v1", client(t)
	c := openai.NewClientWithConfig(config)
	models, err := c.ListModels(t.Context())
	if err != nil || len(models.Models) != 4 || models.Models[1].ID != "openclaw/default" {
		t.Errorf("%+v %v", models, err)
	}
	ask := openai.ChatCompletionRequest{Model: "openclaw:eden", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "hi"}}}

	answer, err := c.CreateChatCompletion(t.Context(), ask)
	if err != nil || answer.Choices[0].Message.Content != "echo: hi" || answer.Choices[0].FinishReason != "stop" || answer.Usage.TotalTokens != 10 {
		t.Errorf("%+v %v", answer, err)
	}

	ask.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	stream, err := c.CreateChatCompletionStream(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	text, finish, tokens := "", openai.FinishReason(""), 0
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
			finish = choice.FinishReason
		}
		if chunk.Usage != nil {
			tokens = chunk.Usage.TotalTokens
		}
	}
	if text != "echo: hi" || finish != "stop" || tokens != 10 {
		t.Errorf("%q %s %d", text, finish, tokens)
	}

	ask.Model = "openclaw:stranger"
	_, err = c.CreateChatCompletion(context.Background(), ask)
	refused, ok := errors.AsType[*openai.APIError](err)
	if !ok || refused.HTTPStatusCode != http.StatusBadRequest || refused.Code != "unknown_agent" || refused.Param == nil || *refused.Param != "model" {
		t.Errorf("%+v", err)
	}

	asked := openai.CreateResponseRequest{Model: "openclaw", Input: "hi"}
	whole, err := c.CreateResponse(t.Context(), asked)
	if err != nil || whole.GetOutputText() != "echo: hi" || whole.Status != "completed" || whole.Usage == nil || whole.Usage.TotalTokens != 10 {
		t.Errorf("%+v %v", whole, err)
	}
	pieces, err := c.CreateResponseStream(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pieces.Close() }()
	text = ""
	for {
		one, err := pieces.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if one.Type == "response.output_text.delta" {
			text += one.Delta
		}
	}
	if text != "echo: hi" {
		t.Errorf("%q", text)
	}
}
