// Package scripted is a model that answers by a script: what it says, how fast, which tools it calls and how it fails. It is what answers
// where no model is configured, with a script that is part of the program, and what tests talk to.
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
// The first rule of which all conditions hold answers; if none does, the request is rejected. Conditions look at the last message of the
// user, unless said otherwise:
//
//	contains  one of these texts, whatever their capitals
//	matches   a regular expression of Go; its groups are {{1}}, {{2}}, ..., and those with a name, (?P<city>\w+), {{city}} too
//	agent     the id of the agent that asks
//	model     the model that is asked
//	offers    a tool that may be called
//	after     who spoke last: user (default), tool, or any
//	tool      the tool that spoke last; goes with after
//	result    a regular expression of Go, of what that tool said; goes with after
//	turn      which message of the user it is, from 1
//	step      how often the model has answered that message, from 1
//	attempt   how often this is asked, from 1
//
// An answer has these parts, all of them optional:
//
//	text       {{message}}, {{agent}}, {{model}}, {{turn}}, {{tool}}, {{result}} and the groups of matches are put in; {{result.agents.id}} is
//	           what stands there in a result that is JSON, in lines of its own if it leads through a list, and all of the result if there is
//	           nothing; other words in such brackets stay as they are; at most 1 MiB comes of it, the rest is cut off
//	chunk      characters that are streamed at once; default: a word
//	wait       time before the first one
//	delay      time between two
//	toolCalls  name, and arguments (an object, in which texts are put in too) or rawArguments (as they are, right or wrong)
//	stop       length or filtered, where it is not the usual reason
//	fault      class (of llm.Error), retryAfter, status, message; or hang: true; after: how many chunks come before it
//
// The same request has the same answer, always.
package scripted
