// Package scripted implements llm.Provider with a script that defines what is answered, how fast, which tools are
// called and which failures happen. It answers where no model is configured, by a built-in script, and in tests.
//
// A script is JSON:
//
//	{
//	  "rules": [
//	    {"when": {"matches": "weather in (\\w+)", "offers": "forecast"},
//	     "answer": {"toolCalls": [{"name": "forecast", "arguments": {"city": "{{1}}"}}]}},
//	    {"when": {"after": "tool"},
//	     "answer": {"text": "It says: {{result}}", "chunk": 8, "delay": "50ms"}},
//	    {"when": {"attempt": 1, "contains": ["busy"]},
//	     "answer": {"fault": {"class": "rate_limited", "retryAfter": "20s"}}},
//	    {"answer": {"text": "You said: {{message}}"}}
//	  ]
//	}
//
// The first rule whose conditions all hold answers; if there is none, the request is rejected. Conditions check the last
// message of the user, unless stated otherwise:
//
//	contains  one of these texts, ignoring case
//	matches   a Go regular expression; {{1}}, {{2}}, ... are its groups, and {{city}} is one with a name, (?P<city>\w+)
//	agent     the id of the agent that asks
//	model     the requested model
//	offers    a tool that the model may call
//	after     author of the last message: user (default), tool, or any
//	tool      the tool whose result is the last message; requires after
//	result    a Go regular expression for that result; requires after
//	turn      number of the user's message, from 1
//	step      number of the model's answer to that message, from 1
//	attempt   number of the attempt at this request, from 1
//
// All parts of an answer are optional:
//
//	text       may contain {{message}}, {{agent}}, {{model}}, {{turn}}, {{tool}}, {{result}} and the groups of matches;
//	           {{result.agents.id}} is the value at that path of a JSON result, one per line if the path leads through a
//	           list, or the whole result if there is none; any other {{...}} is kept; cut off at 1 MiB
//	chunk      characters per streamed chunk; default: a word
//	wait       time before the first chunk
//	delay      time between chunks
//	toolCalls  name, and arguments (an object; its texts are filled like text) or rawArguments (a text, valid or not)
//	stop       length or filtered, instead of the usual stop reason
//	fault      class (of llm.Error), retryAfter, status, message; or hang: true; after: number of chunks before it
//
// The same request always has the same answer.
package scripted
