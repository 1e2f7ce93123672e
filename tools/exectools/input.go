package exectools

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/tool"
)

const actionKeys = "send-keys"

// endOfInput is the key that closes the input of a command.
const endOfInput = "c-d"

// keys are what keys write to a command that has no terminal, by their names in lower case.
var keys = map[string]string{"enter": "\n", "return": "\n", "kpenter": "\n", "c-m": "\n", "c-j": "\n", "tab": "\t", "c-i": "\t", "space": " ", "escape": "\x1b",
	"esc": "\x1b", "bspace": "\x7f", "backspace": "\x7f"}

// check refuses arguments that the action would not use.
func (a *processArguments) check() error {
	for _, one := range []struct {
		name    string
		given   bool
		actions string
	}{{"data", a.Data != "", "write submit"}, {"text", a.Text != "", "paste"}, {"keys", len(a.Keys) > 0, actionKeys}, {"hex", len(a.Hex) > 0, actionKeys},
		{"literal", a.Literal != "", actionKeys}} {
		inUse := strings.Contains(" "+one.actions+" ", " "+a.Action+" ")
		if isInput := a.Action == "write" || a.Action == "submit" || a.Action == "paste" || a.Action == actionKeys; one.given && isInput && !inUse {
			return &tool.Error{Code: tool.CodeInvalid, Field: "/" + one.name, Text: fmt.Sprintf("%s is not for the action %s, so nothing was written", one.name, a.Action),
				Hint: "give it with the action " + strings.ReplaceAll(one.actions, " ", " or ")}
		}
	}
	return nil
}

// input is what an action writes to a command, and whether its input is closed then.
func (a *processArguments) input() (text string, eof bool, err error) {
	switch a.Action {
	case "submit":
		return a.Data + "\n", a.Eof, nil
	case "paste":
		return a.Text, a.Eof, nil
	case "write":
		return a.Data, a.Eof, nil
	}
	var b strings.Builder
	b.WriteString(a.Literal)
	for _, digits := range a.Hex {
		one, err := hex.DecodeString(strings.TrimPrefix(strings.ToLower(digits), "0x"))
		if err != nil {
			return "", false, badInput("/hex", fmt.Sprintf("hex has %.40q, which is no byte", digits), "give two hexadecimal digits for each byte")
		}
		b.Write(one)
	}
	closes := false
	for _, name := range a.Keys {
		sent, known := keys[strings.ToLower(name)]
		switch {
		case closes:
			return "", false, badInput("/keys", "there are keys behind C-d, which closes the input", "give C-d last")
		case strings.ToLower(name) == endOfInput:
			closes = true
		case !known:
			return "", false, badInput("/keys", fmt.Sprintf("the key %.40q has no meaning for a command without a terminal", name),
				"use Enter, Tab, Space, Escape, Backspace or C-d; to stop the command, use the action kill")
		}
		b.WriteString(sent)
	}
	eof = closes || a.Eof
	if b.Len() == 0 && !eof {
		return "", false, badInput("/keys", "there is nothing to send", "give keys, hex or literal")
	}
	return b.String(), eof, nil
}

func badInput(field, text, hint string) error {
	return &tool.Error{Code: tool.CodeInvalid, Field: field, Text: text, Hint: hint}
}
