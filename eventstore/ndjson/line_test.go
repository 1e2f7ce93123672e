package ndjson_test

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// said is the expected result of an accepted line.
type said struct {
	Type, AgentID  string
	TS             int64
	NoTS           bool
	Data, Original string // Original "" is nil
	ID             string // "" is none
}

func saidBy(e eventstore.NewEvent) said {
	s := said{Type: e.Type, AgentID: e.AgentID, TS: e.TS, NoTS: !e.HasTS(), Data: string(e.Data), Original: string(e.Original)}
	if !e.ID.IsZero() {
		s.ID = e.ID.String()
	}
	return s
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	const uuid = "0197c9a4-5b1e-7c3d-9f00-112233445566"
	for name, tc := range map[string]struct {
		line string
		want said
	}{
		"canonical": {
			`{"type":"a2a.send","agentId":"eden","ts":1771584960000,"data":{"message":"배포 <b>&</b>"}}`,
			said{Type: "a2a.send", AgentID: "eden", TS: 1771584960000, Data: `{"message":"배포 <b>&</b>"}`},
		},
		"other order and spacing": {
			"\t{ \"ts\" : 5 , \"data\" : { \"a\" : 1 } , \"agentId\" : \"eden\" , \"type\" : \"x\" } \r",
			said{Type: "x", AgentID: "eden", TS: 5, Data: `{ "a" : 1 }`},
		},
		"CRLF":                        {"{\"type\":\"x\",\"agentId\":\"\",\"ts\":5,\"data\":{}}\r\n", said{Type: "x", TS: 5, Data: "{}"}},
		"byte order mark":             {"\uFEFF" + `{"type":"x","agentId":"","ts":5,"data":{}}` + "\u3000", said{Type: "x", TS: 5, Data: "{}"}},
		"U+2028 is no line end":       {"{\"type\":\"x\",\"agentId\":\"\",\"ts\":5,\"data\":{\"m\":\"a\u2028b\"}}", said{Type: "x", TS: 5, Data: "{\"m\":\"a\u2028b\"}"}},
		"line breaks between members": {"{\"type\":\"x\",\r\"agentId\":\"\",\"ts\":5,\"data\":{\"a\":\r1},\r\"more\":[\n1]}", said{Type: "x", TS: 5, Data: `{"a":1}`, Original: `{"type":"x","agentId":"","ts":5,"more":[1]}`}},
		"only a type":                 {`{"type":"x"}`, said{Type: "x", NoTS: true, Data: "{}", Original: `{"type":"x"}`}},
		"unknown members":             {`{"type":"x","agentId":"a","ts":5,"data":{"b":1},"status":"done"}`, said{Type: "x", AgentID: "a", TS: 5, Data: `{"b":1}`, Original: `{"type":"x","agentId":"a","ts":5,"status":"done"}`}},
		"escaped key":                 {`{"\u0074ype":"x","agentId":"a","ts":5,"data":{}}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}"}},
		"keys are case-sensitive":     {`{"type":"x","Type":"y","AGENTID":"a","Ts":1,"Data":{}}`, said{Type: "x", NoTS: true, Data: "{}", Original: `{"type":"x","Type":"y","AGENTID":"a","Ts":1,"Data":{}}`}},
		"last of equal keys":          {`{"type":"x","agentId":"a","ts":5,"data":{"n":1},"data":{"n":2},"type":"y"}`, said{Type: "y", AgentID: "a", TS: 5, Data: `{"n":2}`, Original: `{"type":"x","agentId":"a","ts":5,"type":"y"}`}},
		"last data is no object":      {`{"type":"x","agentId":"a","ts":5,"data":{"n":1},"data":1}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", Original: `{"type":"x","agentId":"a","ts":5,"data":{"n":1},"data":1}`}},

		"padded type":             {`{"type":" x\u3000\ufeff","agentId":"a","ts":5,"data":{}}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", Original: `{"type":" x\u3000\ufeff","agentId":"a","ts":5}`}},
		"type that Go would trim": {`{"type":"\u0085x","agentId":"a","ts":5,"data":{}}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", Original: `{"type":"\u0085x","agentId":"a","ts":5}`}},
		"escaped type":            {`{"type":"\u0078\/\"","agentId":"a","ts":5,"data":{}}`, said{Type: `x/"`, AgentID: "a", TS: 5, Data: "{}"}},
		"longest type":            {`{"type":"` + strings.Repeat("x", 256) + `","agentId":"a","ts":5,"data":{}}`, said{Type: strings.Repeat("x", 256), AgentID: "a", TS: 5, Data: "{}"}},
		"lone surrogate":          {`{"type":"x\ud800","agentId":"a","ts":5,"data":{"m":"\udc00"}}`, said{Type: "x\uFFFD", AgentID: "a", TS: 5, Data: `{"m":"\udc00"}`, Original: `{"type":"x\ud800","agentId":"a","ts":5}`}},
		"invalid UTF-8":           {"{\"type\":\"x\",\"agentId\":\"\xed\xa0\x80\",\"ts\":5,\"data\":{\"m\":\"\xea\xb0\"}}", said{Type: "x", AgentID: "\uFFFD\uFFFD\uFFFD", TS: 5, Data: "{\"m\":\"\uFFFD\"}"}},

		"padded agent":       {`{"type":"x","agentId":" eden ","ts":5,"data":{}}`, said{Type: "x", AgentID: "eden", TS: 5, Data: "{}", Original: `{"type":"x","agentId":" eden ","ts":5}`}},
		"missing agent":      {`{"type":"x","ts":5,"data":{}}`, said{Type: "x", TS: 5, Data: "{}", Original: `{"type":"x","ts":5}`}},
		"agent of no string": {`{"type":"x","agentId":7,"ts":5,"data":{}}`, said{Type: "x", TS: 5, Data: "{}", Original: `{"type":"x","agentId":7,"ts":5}`}},
		"agent with NUL":     {`{"type":"x","agentId":"a\u0000","ts":5,"data":{}}`, said{Type: "x", TS: 5, Data: "{}", Original: `{"type":"x","agentId":"a\u0000","ts":5}`}},
		"longest agent":      {`{"type":"x","agentId":"` + strings.Repeat("a", 16<<10) + `","ts":5,"data":{}}`, said{Type: "x", AgentID: strings.Repeat("a", 16<<10), TS: 5, Data: "{}"}},
		"agent too long":     {`{"type":"x","agentId":"` + strings.Repeat("a", 16<<10+1) + `","ts":5,"data":{}}`, said{Type: "x", TS: 5, Data: "{}", Original: `{"type":"x","agentId":"` + strings.Repeat("a", 16<<10+1) + `","ts":5}`}},

		"data text":    {`{"type":"x","agentId":"a","ts":5,"data":"text"}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", Original: `{"type":"x","agentId":"a","ts":5,"data":"text"}`}},
		"data array":   {`{"type":"x","agentId":"a","ts":5,"data":[{}]}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", Original: `{"type":"x","agentId":"a","ts":5,"data":[{}]}`}},
		"data null":    {`{"type":"x","agentId":"a","ts":5,"data":null}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", Original: `{"type":"x","agentId":"a","ts":5,"data":null}`}},
		"tricky text":  {`{"type":"x","agentId":"a","ts":5,"data":{"}":"{\\","b":["]\"",{"c":"\\\""}]}}`, said{Type: "x", AgentID: "a", TS: 5, Data: `{"}":"{\\","b":["]\"",{"c":"\\\""}]}`}},
		"rest deepest": {`{"type":"x","data":{},"rest":` + object(eventstore.MaxDepth-1) + `}`, said{Type: "x", NoTS: true, Data: "{}", Original: `{"type":"x","rest":` + object(eventstore.MaxDepth-1) + `}`}},
		"data deepest": {lineOfDepth(eventstore.MaxDepth), said{Type: "x", AgentID: "a", TS: 5, Data: object(eventstore.MaxDepth)}},

		"id":            {`{"type":"x","agentId":"a","ts":5,"data":{},"id":"` + uuid + `"}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", ID: uuid}},
		"id first":      {`{"id":"` + uuid + `","type":"x","ts":5,"data":{}}`, said{Type: "x", TS: 5, Data: "{}", ID: uuid, Original: `{"type":"x","ts":5}`}},
		"foreign id":    {`{"type":"x","agentId":"a","ts":5,"data":{},"id":"evt-1"}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", Original: `{"type":"x","agentId":"a","ts":5,"id":"evt-1"}`}},
		"id nil":        {`{"type":"x","agentId":"a","ts":5,"data":{},"id":"00000000-0000-0000-0000-000000000000"}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", Original: `{"type":"x","agentId":"a","ts":5,"id":"00000000-0000-0000-0000-000000000000"}`}},
		"id added":      {`{"type":"x","agentId":"a","ts":5,"data":{},"id":"evt-1","id":"` + uuid + `"}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", ID: uuid, Original: `{"type":"x","agentId":"a","ts":5,"id":"evt-1"}`}},
		"not an export": {`{"type":"x","agentId":"a","ts":5,"data":{},"seq":1,"hash":"ff","dataHash":"ff"}`, said{Type: "x", AgentID: "a", TS: 5, Data: "{}", Original: `{"type":"x","agentId":"a","ts":5,"seq":1,"hash":"ff","dataHash":"ff"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, rejection := ndjson.ParseLine([]byte(tc.line))
			if rejection != nil {
				t.Fatalf("rejected: %+v", rejection)
			}
			if diff := cmp.Diff(tc.want, saidBy(line.Event)); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
			if err := line.Event.Check(); err != nil {
				t.Errorf("a store would refuse it: %v", err)
			}
			if line.Event.Actor != eventstore.ActorImport {
				t.Errorf("actor %q", line.Event.Actor)
			}
		})
	}
}

func TestParseLineTime(t *testing.T) {
	t.Parallel()
	const none = 0
	for members, want := range map[string]int64{
		`"ts":1771584960000`:                       1771584960000,
		`"ts":1771584960000.9`:                     1771584960000,
		`"ts":1.771584960e12`:                      1771584960000,
		`"ts":-1`:                                  -1,
		`"ts":-0.5`:                                -1,
		`"ts":" 1771584720000\n"`:                  1771584720000,
		`"ts":"1771584720000.5"`:                   1771584720000,
		`"ts":5,"timestampMs":9`:                   9,
		`"ts":5,"timestampMs":"nine"`:              5,
		`"ts":5,"timestampMs":0`:                   5,
		`"ts":0,"timestamp":"2026-02-20"`:          1771545600000,
		`"timestamp":"2026-02-20T10:51:00.123Z"`:   1771584660123,
		`"timestamp":" 2026-02-20T19:51:00+09:00"`: 1771584660000,
		`"timestamp":"2026-02-20T10:51:00"`:        1771584660000,
		`"timestamp":"2026-02-20T10:51"`:           1771584660000,
		`"timestamp":"2026-02-20 10:51:00.5"`:      1771584660500,
		`"timestamp":"2026-02"`:                    1769904000000,
		`"ts":8640000000000000`:                    8640000000000000,

		``:                         none,
		`"ts":0`:                   none,
		`"ts":-0`:                  none,
		`"ts":0.5`:                 none,
		`"ts":null`:                none,
		`"ts":true`:                none,
		`"ts":[1]`:                 none,
		`"ts":""`:                  none,
		`"ts":"soon"`:              none,
		`"ts":"0x10p2"`:            none,
		`"ts":"+5"`:                none,
		`"ts":"Infinity"`:          none,
		`"ts":1e300`:               none,
		`"ts":1e999`:               none,
		`"ts":8640000000000001`:    none,
		`"ts":9223372036854775808`: none,
		`"timestamp":"yesterday"`:  none,
	} {
		line := strings.TrimSuffix(`{"type":"x","agentId":"a","data":{},`+members, ",") + "}"
		got, rejection := ndjson.ParseLine([]byte(line))
		if rejection != nil {
			t.Errorf("%s: rejected: %s", members, rejection.Reason)
			continue
		}
		if got.Event.TS != want || got.Event.HasTS() != (want != none) {
			t.Errorf("%s: TS %d (has one: %t), want %d", members, got.Event.TS, got.Event.HasTS(), want)
		}
		exact := members == `"ts":`+strconv.FormatInt(want, 10) && want != none
		if exact != (got.Event.Original == nil) {
			t.Errorf("%s: original %s", members, got.Event.Original)
		}
	}
}

// Promise: bad-lines
func TestParseLineRejects(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]ndjson.Reason{
		`not json at all`: ndjson.NotJSON,
		`{"type":"a2a.send","agentId":"eden","ts":17`: ndjson.NotJSON,
		`{'type':'x'}`:                        ndjson.NotJSON,
		`{"type":"x"}{"type":"y"}`:            ndjson.NotJSON,
		`{"type":"x",}`:                       ndjson.NotJSON,
		`{"type":"x","ts":NaN}`:               ndjson.NotJSON,
		"{\"type\":\"a\tb\"}":                 ndjson.NotJSON,
		`"`:                                   ndjson.NotJSON,
		"{\"type\":\"x\x00\"}":                ndjson.HasNUL,
		"\x00\x00\x00":                        ndjson.HasNUL,
		`null`:                                ndjson.NotObject,
		`123`:                                 ndjson.NotObject,
		`"string"`:                            ndjson.NotObject,
		`[{"type":"x"}]`:                      ndjson.NotObject,
		`{}`:                                  ndjson.NoType,
		`{"agentId":"eden","ts":1,"data":{}}`: ndjson.NoType,
		`{"type":"  ","ts":1}`:                ndjson.NoType,
		`{"type":"\ufeff\u00a0","ts":1}`:      ndjson.NoType,
		`{"type":42}`:                         ndjson.NoType,
		`{"Type":"x"}`:                        ndjson.NoType,
		`{"type":"x","type":null}`:            ndjson.NoType,
		`{"type":"x\u0000y"}`:                 ndjson.TypeNUL,
		`{"type":"` + strings.Repeat("x", 257) + `"}`:             ndjson.TypeTooLong,
		lineOfDepth(eventstore.MaxDepth + 1):                      ndjson.TooDeep,
		lineOfDepth(20_000):                                       ndjson.TooDeep,
		`{"type":"x","rest":` + object(eventstore.MaxDepth) + `}`: ndjson.TooDeep,
		strings.Repeat("[", 20_000):                               ndjson.TooDeep,
	} {
		got, rejection := ndjson.ParseLine([]byte(" " + line + "\r\n"))
		if rejection == nil {
			t.Errorf("%.60q: accepted as %+v", line, got)
			continue
		}
		begin := strings.ReplaceAll(line[:min(len(line), 4096)], "\x00", "\uFFFD")
		wanted := ndjson.Rejection{Reason: want, Text: begin, Bytes: int64(len(line)), SHA256: sha256.Sum256([]byte(line))}
		if diff := cmp.Diff(wanted, *rejection); diff != "" {
			t.Errorf("%.60q (-want +got):\n%s", line, diff)
		}
	}
}

func TestParseLineKeepsTheBeginningOfWhatItRejects(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		strings.Repeat("x", 5000):        strings.Repeat("x", 4096),
		strings.Repeat("x", 4095) + "가나": strings.Repeat("x", 4095),
		"\xff\xff!":                      "\uFFFD\uFFFD!",
		"a\x00b":                         "a\uFFFDb",
		strings.Repeat("x", 4094) + "\xff\xffmore": strings.Repeat("x", 4094),
	} {
		_, rejection := ndjson.ParseLine([]byte(line))
		if rejection == nil {
			t.Fatalf("%.20q accepted", line)
		}
		if rejection.Text != want {
			t.Errorf("%.20q…: text of %d bytes ends %q", line, len(rejection.Text), rejection.Text[max(0, len(rejection.Text)-9):])
		}
	}
}

func TestParseLineBlank(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "\n", "\r\n", " \t\v\f", "\uFEFF", "\u00a0\u2028\u3000"} {
		if got, rejection := ndjson.ParseLine([]byte(line)); rejection != nil || !got.Blank {
			t.Errorf("%q: %+v, %+v", line, got, rejection)
		}
	}
}

// lineOfDepth is a canonical line with data that is nested so deep.
func lineOfDepth(depth int) string {
	return `{"type":"x","agentId":"a","ts":5,"data":` + object(depth) + "}"
}

func object(depth int) string {
	return strings.Repeat(`{"d":`, depth-1) + "{}" + strings.Repeat("}", depth-1)
}
