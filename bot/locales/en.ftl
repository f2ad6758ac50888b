# What Mnemogram says in English. Every key stands in ru.ftl too, with the same variables.
# Keys begin with the module that uses them.

### offline: the notebook that answers when no language model does

offline-saved = Saved as memory { $id }: { $text }
offline-known = I know that already, as memory { $id }: { $text }
offline-not-saved = I could not save that. Please say it again in other words.
offline-storage = My memory cannot be used right now, so I could not save that. Please tell me again in a moment.
offline-memory-yours = You said on { $date }: { $text }
offline-memory = From { $speaker }, { $date }: { $text }
offline-memory-unsigned = { $date }: { $text }
offline-memory-document = From the document { $document }, { $date }: { $text }
offline-memory-assistant = From an earlier answer of mine, { $date }: { $text }
offline-memory-forwarded = From a forwarded message, { $date }: { $text }
offline-nothing = I know nothing about that yet.
offline-search-failed = I could not search my memory just now. Please ask again in a moment.
offline-what = What shall I remember? Write it after “remember”, for example: remember that my dog is called Biscuit.
offline-hello = Hello! I am a memory notebook: tell me something and I keep it, ask me and I find it again. /help lists the commands.
offline-thanks = You are welcome. Tell me something to remember, or ask about what you told me.
offline-short = Tell me something in a whole sentence and I keep it; ask me and I look it up.
offline-not-a-fact = I did not save that: I only keep what you tell me in your own words. To keep it all the same, start with “remember:”.
offline-cannot = Without a language model I can only keep what you tell me and find it again.
offline-idle = I make no memory of such remarks. To keep it all the same, start with “remember:”.
offline-not-kept = As you wish: I make no memory of it.
offline-secret = This looks like a secret, so I made no memory of it (the message itself stays here until /forget all); to keep it all the same, start with “remember:”.
offline-too-long = This is too long for one memory; send it in parts of at most 4000 characters.
offline-no-reminders = I cannot remind you at a set time. To keep it all the same, start with “remember:”.
offline-everything = The command /memory shows everything I know.
offline-forget = To make me forget, use the command /forget with a word of the memory, for example: /forget dog.

### console: the conversation in a terminal

console-you = you
console-brain = Brain: { $model }.
console-brain-offline = Brain: the built-in notebook, which keeps what you tell it and finds it again; with a key for Claude the bot talks, too.
console-place = Your memory is kept in { $directory }, found with the embedding model { $embedder }. /help lists the commands, Ctrl-D ends.
console-interrupt = Press Ctrl-C once more, or Ctrl-D, to end.
console-unknown = I do not know this command; /help lists the commands.
console-help =
    Tell me something and I remember it; ask me and I look for it.
    /memory — what I remember, newest first; /memory 2 — the next page
    /memory words — search my memory
    /forget words, number or all — forget these memories
    /undo — take back the last /forget
    /new — begin a new conversation; memories stay
    /stop — stop the answer; Ctrl-C does it while I write
    /quit — end
console-new = A new conversation begins. What I remember stays.
console-new-already = This is already a new conversation.
console-stopped = Stopped.
console-nothing-to-stop = I am not writing anything just now.
console-more = /memory { $page } shows more.
console-kept = Nothing was forgotten.
console-memories =
    { $count ->
        [0] I remember nothing here yet. Tell me something!
        [one] I remember { $count } thing here.
       *[other] I remember { $count } things here, newest first:
    }
console-not-found = I found no such memory.
console-forget-what = What shall I forget? Write a word of the memory, its number, or all: /forget dog.
console-forget-sure =
    { $count ->
        [one] Forget this memory? Answer yes, or anything else to keep it.
       *[other] Forget these { $count } memories? Answer yes, or anything else to keep them.
    }
console-forget-sure-all =
    { $count ->
        [one] Forget { $count } memory and the words of all messages of this chat? Answer yes, or anything else to keep them.
       *[other] Forget { $count } memories and the words of all messages of this chat? Answer yes, or anything else to keep them.
    }
console-forgotten =
    { $count ->
        [one] Forgotten: { $count } memory.
       *[other] Forgotten: { $count } memories.
    } For { $minutes ->
        [one] { $minutes } minute
       *[other] { $minutes } minutes
    } { $count ->
        [one] /undo brings it back; then it is erased.
       *[other] /undo brings them back; then they are erased.
    }
console-forgotten-for-good =
    { $count ->
        [one] Erased for good: { $count } memory.
       *[other] Erased for good: { $count } memories.
    }
console-restored-nothing = There is nothing to bring back.
console-restored =
    { $count ->
        [0] What was said here is back.
        [one] { $count } memory is back.
       *[other] { $count } memories are back.
    }

### loop: what a turn says in place of a whole answer

loop-empty = I have no answer to that. Please ask once more, in other words.
loop-cut = *(The answer was cut off here. Say “go on” for the rest.)*
loop-refused = I cannot help with that. Your message was not kept in our conversation; please ask in another way.

### conversation: when something comes between a question and its answer

conversation-tool = { $tool ->
    [search_memory] Looking in memory…
    [save_to_memory] Saving…
    [update_memory] Updating a memory…
    [forget_memory] Forgetting…
   *[other] Working…
}
conversation-unavailable = The model cannot be reached right now, so my notebook answers from memory alone:
conversation-misconfigured = The model does not work with the present settings; whoever runs this bot can see why in its log. My notebook answers from memory alone:
conversation-too-long = This is too long for me to read at once. Please send it in smaller pieces.
conversation-forgotten = { $count ->
    [one] 🗑 One memory is forgotten.
   *[other] 🗑 { $count } memories are forgotten.
} /undo brings { $count ->
    [one] it
   *[other] them
} back for { $minutes ->
    [one] a minute
   *[other] { $minutes } minutes
}.
conversation-empty = There are no words in this message. Please write what you want to say.
conversation-erased = The text of this message has been forgotten, so there is nothing to answer.

### showing: why a memory was found, and what was said around it

showing-meaning-and-words = by meaning and by words
showing-meaning = by meaning
showing-words = by words
showing-around = by what was said around it
showing-linked = by a link with another memory
showing-window = at the time you named
showing-yours = said by you
showing-speaker = said by { $speaker }
showing-reranked = confirmed by a second reading
showing-before = before: { $said }
showing-after = after: { $said }
showing-me = me

### telegram: the bot in a chat

access-closed = This bot serves only the people it knows. To be let in, give its owner your Telegram id: { $id }
say-stale = This button is too old. Please send the command again.
errors-sorry = That did not work. Please try it once more.
errors-storage = I cannot store anything at the moment. Your message is kept; I answer as soon as I can.
errors-given-up = I could not deal with this message and have given up on it. Please write it in another way.

commands-memory = what I remember; add words to search
commands-forget = forget memories: words, a number or all
commands-undo = take back what was forgotten last
commands-new = begin a new conversation
commands-stop = stop the answer
commands-help = what I can do

session-start =
    Hello, { $name }! I am a bot with a memory: talk with me, and I can find what you tell me even years later.
    Try “remember that my dog is called Biscuit”, then later “what is my dog called?”.
    /help says what else I can do.
session-help =
    Just write to me. What you tell me about yourself I remember, and I look for it when you ask.

    /memory — what I remember, newest first
    /memory words — search my memory
    /forget words, number or all — forget these memories
    /undo — take back what was forgotten last
    /new — begin a new conversation; memories stay
    /stop — stop the answer that I am writing
session-new = A new conversation begins. What I remember stays.
session-new-already = This is already a new conversation.
session-nothing-to-stop = I am not writing anything just now.

chat-empty = I have no words for that. Please ask in another way.
chat-only-text = So far I understand only text. Please write it in words.
chat-unknown-command = I do not know this command; /help lists the commands.

memory-list =
    { $count ->
        [0] I remember nothing here yet. Tell me something!
        [one] I remember one thing here:
       *[other] I remember { $count } things here, newest first:
    }
memory-found =
    { $count ->
        [one] { $count } memory matches:
       *[other] { $count } memories match:
    }
memory-not-found = I remember nothing about that.
memory-type-fact = fact
memory-type-preference = preference
memory-type-context = context
memory-type-knowledge = knowledge
memory-type-summary = summary
memory-type-insight = insight
memory-type-turn = from a conversation

forget-what = What shall I forget? Write a word of the memory, its number, or all, for example: /forget dog
forget-not-found = I found no memory with these words. /memory lists what I remember.
forget-sure =
    { $count ->
        [one] Shall I forget this?
       *[other] Shall I forget these { $count } memories?
    }
forget-sure-all =
    { $count ->
        [0] There are no memories. Shall I forget everything that was said in this chat?
        [one] Shall I forget everything of this chat: { $count } memory and the words of all messages?
       *[other] Shall I forget everything of this chat: { $count } memories and the words of all messages?
    }
forget-more = … and { $count } more.
forget-kept = Nothing was forgotten.
forget-nothing-left = There is nothing left to forget.
forget-hidden =
    { $memories ->
        [0] Forgotten: the text of { $messages ->
            [one] { $messages } message
           *[other] { $messages } messages
        }.
        [one] Forgotten: { $memories } memory.
       *[other] Forgotten: { $memories } memories.
    }{ $memories ->
        [0] { "" }
       *[other] { $messages ->
            [0] { "" }
            [one] { " " }The text of { $messages } message goes with it.
           *[other] { " " }The text of { $messages } messages goes with it.
        }
    } For { $minutes ->
        [one] { $minutes } minute
       *[other] { $minutes } minutes
    } the button or /undo brings this back; then it is erased.
forget-erased =
    { $memories ->
        [0] Erased for good: the text of { $messages ->
            [one] { $messages } message
           *[other] { $messages } messages
        }.
        [one] Erased for good: { $memories } memory.
       *[other] Erased for good: { $memories } memories.
    }{ $memories ->
        [0] { "" }
       *[other] { $messages ->
            [0] { "" }
            [one] { " " }The text of { $messages } message went with it.
           *[other] { " " }The text of { $messages } messages went with it.
        }
    }
forget-nothing-to-restore = There is nothing to bring back.
forget-restored =
    { $memories ->
        [0] The text of { $messages ->
            [one] { $messages } message is back.
           *[other] { $messages } messages is back.
        }
        [one] { $memories } memory is back.
       *[other] { $memories } memories are back.
    }

keyboards-forget =
    { $count ->
        [0] Forget everything
        [one] Forget it
       *[other] Forget { $count }
    }
keyboards-cancel = Keep
keyboards-undo = Bring back

admin-report =
    Chats: { $chats }
    Memories: { $memories }
    Messages: { $messages }
    Calls to models: { $calls }
    Tokens: { $sent } sent ({ $cached } % from the cache), { $received } received
    Cost: { $cost } US dollars
    Index: { $index }
admin-index =
    { $behind ->
        [0] up to date
        [one] { $behind } memory behind
       *[other] { $behind } memories behind
    }
admin-index-none = not built yet
