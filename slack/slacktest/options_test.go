package slacktest_test

import library "github.com/slack-go/slack"

func textOption(text string) library.MsgOption { return library.MsgOptionText(text, false) }

func buttonOption(id string) library.MsgOption {
	return library.MsgOptionBlocks(library.NewActionBlock("buttons", library.NewButtonBlockElement(id, "v",
		library.NewTextBlockObject("plain_text", "Go", false, false))))
}
