package discord

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/channel"
)

// maxComponentID is Discord's limit of a button's id, in characters.
const maxComponentID = 100

// Types and styles of buttons in Discord's API.
const (
	componentButton = 2
	styleGray       = 2
	styleGreen      = 3
	styleDanger     = 4
)

type buttonRowShape struct {
	Type    int           `json:"type"`
	Buttons []buttonShape `json:"components"`
}

type buttonShape struct {
	Type  int    `json:"type"`
	Style int    `json:"style"`
	Label string `json:"label"`
	ID    string `json:"custom_id"`
}

// Components implements channel.Poster: one row.
func (b *Bots) Components(buttons []channel.Button) json.RawMessage {
	row := buttonRowShape{Type: componentRow}
	styles := map[channel.ButtonStyle]int{channel.ButtonPlain: styleGray, channel.ButtonGood: styleGreen, channel.ButtonDanger: styleDanger}
	for _, one := range buttons {
		if utf8.RuneCountInString(one.ID) > maxComponentID {
			return nil
		}
		row.Buttons = append(row.Buttons, buttonShape{Type: componentButton, Style: styles[one.Style], Label: one.Label, ID: one.ID})
	}
	if len(row.Buttons) == 0 {
		return nil
	}
	text, err := json.Marshal([]buttonRowShape{row})
	if err != nil {
		return nil // encoding numbers and texts cannot fail
	}
	return text
}
