"""Small dictionaries with one fault each, and what lint says of it."""

from typing import Final, NamedTuple

SOUND = """<class name="application" code="capp"><element type="entry"/></class>
<class name="entry" code="entr" plural="entries"><property name="body" code="body" type="text"/>
<responds-to command="reread"/></class>
<command name="reread" code="diarrere"><direct-parameter type="entry"/></command>
"""
"""Sound items, on lines 3 to 6 of the file; those of a case follow from line 7."""

INCLUDE = (
    '<xi:include xmlns:xi="http://www.w3.org/2003/XInclude" href="file:///{}"'
    """ xpointer="xpointer(/dictionary/suite/node()[not(self::command and @name = 'none')])"/>"""
)


class Case(NamedTuple):
    """Items that have one fault, and the finding without the name of the file."""

    rule: str
    items: str
    found: str


CASES: Final = (
    Case(
        "shared-code",
        '<command name="read again" code="diarrere"/>',
        "7: note: command read again: has the same code 'diarrere' as command reread. Both"
        " tools send the same event.",
    ),
    Case(
        "shared-code",
        '<class-extension extends="entry"><element type="leaf"/></class-extension>\n'
        '<class name="leaf" code="entr"/>',
        "8: note: class leaf: has the same code 'entr' as class entry. An object of one class"
        " may be returned under the name of the other.",
    ),
    Case(
        "several-codes",
        '<class-extension extends="application">\n'
        '<property name="body" code="bodi" type="text"/></class-extension>',
        "8: note: property body of application: has the code 'bodi', but property body of"
        " entry has 'body'. A script that names the property may send the other code.",
    ),
    Case(
        "duplicate-code",
        '<class-extension extends="entry"><property name="mood" code="mood" type="mood"/>'
        "</class-extension>\n"
        '<enumeration name="mood" code="mood"><enumerator name="glad" code="glad"/>\n'
        '<enumerator name="happy" code="glad"/></enumeration>',
        "9: warning: enumerator happy of mood: has the same code 'glad' as glad. In a result,"
        " the two values cannot be told apart.",
    ),
    Case(
        "duplicate-code",
        '<class-extension extends="entry">\n<property name="text" code="body" type="text"/>'
        "</class-extension>",
        "8: warning: property text of entry: has the same code 'body' as body. Both names"
        " read and set the same value.",
    ),
    Case(
        "duplicate-parameter",
        '<command name="stitch" code="diarbind"><parameter name="cover" code="covr" type="text"/>\n'
        '<parameter name="cover" code="kovr" type="text"/></command>',
        "8: warning: parameter cover of stitch: has the code 'kovr' and also 'covr'. Two"
        " parameters have this name; a script that uses it sets only one of them.",
    ),
    Case(
        "duplicate-parameter",
        '<command name="stitch" code="diarbind"><parameter name="cover" code="covr" type="text"/>\n'
        '<parameter name="covers" code="covr" type="text"/></command>',
        "8: warning: parameter covers of stitch: has the same code 'covr' as parameter cover."
        " For the app, both are the same parameter. Give only one of them.",
    ),
    Case(
        "synonym",
        '<command name="stitch" code="diarbind"><synonym code="bind"/></command>',
        "7: warning: command stitch: has a synonym whose code 'bind' is not 8 characters. A"
        " result with this code is not recognised.",
    ),
    Case(
        "synonym",
        '<class-extension extends="application">\n<property name="mood" code="mood" type="text">'
        "<synonym/></property></class-extension>",
        "8: warning: property mood of application: has a synonym without name and code. The"
        " synonym has no effect.",
    ),
    Case(
        "member-clash",
        '<class-extension extends="application">\n'
        '<property name="entry" code="cent" type="entry"/></class-extension>',
        "8: warning: property entry of application: is also the name of an element. In a"
        " reference, the name means the property; its plural means the elements.",
    ),
    Case(
        "member-clash",
        '<class-extension extends="application">\n'
        '<property name="Entries" code="cent" type="text"/></class-extension>',
        "8: warning: property Entries of application: has the same name in JavaScript as the"
        " elements entry. A reference can reach only one of the two.",
    ),
    Case(
        "type-clash",
        '<value-type name="entry" code="entv"/>',
        "7: warning: value type entry: has the same name as class entry. Used as a type, the"
        " name means class entry.",
    ),
    Case(
        "type-clash",
        '<class-extension extends="application"><element type="file"/></class-extension>\n'
        '<class name="file" code="file"/><value-type name="file" code="filv" hidden="yes"/>',
        "8: warning: value type file: has the same name as class file. Used as a type, the"
        " name means the simple type file.",
    ),
    Case(
        "command-clash",
        '<command name="body" code="diarbody"/>',
        "7: warning: command body: has the same name in JavaScript as property body of entry."
        " Which of the two a script reaches can be seen only on a Mac.",
    ),
    Case(
        "identifier-clash",
        '<command name="Reread" code="diarRere"/>',
        "7: warning: command Reread: becomes reread in Python, and so does reread. A number"
        " is added to the name of the second tool.",
    ),
    Case(
        "identifier-clash",
        '<command name="stitch" code="diarbind"><parameter name="New" code="new1" type="text"/>\n'
        '<parameter name="new" code="new2" type="text"/></command>',
        "8: warning: parameter new of stitch: becomes new in Python, and so does New. A"
        " number is added to the name of the second parameter.",
    ),
    Case(
        "identifier-clash",
        '<class-extension extends="entry">\n<property name="Body" code="bod2" type="text"/>'
        "</class-extension>",
        "8: warning: property Body of entry: becomes body in JavaScript, and so does body. A"
        " reference can reach only one of the two.",
    ),
    Case(
        "python-keyword",
        '<command name="import" code="diarimpt"/>',
        "7: note: command import: is a Python keyword. In Python it is written import_.",
    ),
    Case(
        "python-keyword",
        '<command name="stitch" code="diarbind"><parameter name="in" code="kfil" type="file"/>'
        "</command>",
        "7: note: parameter in of stitch: is a Python keyword. In Python it is written in_.",
    ),
    Case(
        "javascript-member",
        '<class-extension extends="entry">\n<property name="length" code="leng" type="integer"/>'
        "</class-extension>",
        "8: warning: property length of entry: becomes length in JavaScript, a member that"
        " every object has. In a reference, the name probably means JavaScript's own member.",
    ),
    Case(
        "javascript-member",
        '<class-extension extends="entry"><element type="part"/></class-extension>\n'
        '<class name="part" code="part" plural="where"/>',
        "8: warning: class part: has the plural where, in JavaScript a member that every"
        " object has. In a reference, the name probably means JavaScript's own member.",
    ),
    Case(
        "javascript-member",
        '<command name="apply" code="diarappl"/>',
        "7: warning: command apply: becomes apply in JavaScript, a member that every function"
        " has. In a reference, the name probably means JavaScript's own member.",
    ),
    Case(
        "missing-plural",
        '<class-extension extends="entry"><element type="diary"/></class-extension>\n'
        '<class name="diary" code="diry"/>',
        "8: note: class diary: is an element of another class, but declares no plural. A"
        " reference uses diarys as its plural.",
    ),
    Case(
        "unverified-name",
        '<command name="read/write" code="diarrewr"/>',
        "7: note: command read/write: is probably, but not certainly, read/write in"
        " JavaScript. If the name is different, a call that uses it fails on a Mac.",
    ),
    Case(
        "hidden-characters",
        '<command name="stitch" code="diarbind" description="Binds \u202ereversed\u200b."/>',
        "7: warning: command stitch: has invisible characters in its description (U+200B,"
        " U+202E). IAC removes them. Check what the text says without them.",
    ),
    Case(
        "undefined-type",
        '<command name="stitch" code="diarbind">'
        '<parameter name="cover" code="covr" type="leather"/>'
        '<parameter name="back" code="back" type="leather"/></command>',
        "7: warning: parameter cover of stitch: has the type leather, which is declared"
        " nowhere (in 2 places). The tools accept any value here, and cannot say which values"
        " the app expects.",
    ),
    Case(
        "missing-type",
        '<command name="stitch" code="diarbind"><direct-parameter/></command>',
        "7: warning: direct parameter of stitch: declares no type. The tools accept any value"
        " here, and cannot say which values the app expects.",
    ),
    Case(
        "undefined-superclass",
        '<class-extension extends="entry"><element type="leaf"/></class-extension>\n'
        '<class name="leaf" code="leaf" inherits="plant"/>',
        "8: warning: class leaf: inherits from plant, which is declared nowhere. The class"
        " lacks the properties and elements that it should inherit.",
    ),
    Case(
        "undefined-element",
        '<class-extension extends="entry">\n<element type="leaf"/></class-extension>',
        "8: warning: element leaf of entry: belongs to a class that is declared nowhere. Such"
        " elements cannot be listed or counted.",
    ),
    Case(
        "undefined-element",
        '<class-extension extends="entry">\n<element type="document"/></class-extension>',
        "8: warning: element document of entry: belongs to a class that is declared nowhere."
        " IAC uses a class without properties instead.",
    ),
    Case(
        "undefined-extension",
        '<class-extension extends="leaf"/>',
        "7: warning: class leaf: is extended but declared nowhere. The properties and"
        " elements of the extension are left out.",
    ),
    Case(
        "unknown-command",
        '<class-extension extends="entry"><responds-to name="burn"/></class-extension>',
        "7: warning: class entry: responds to burn, which no command declares. IAC makes no"
        " tool, because only the command's name is known.",
    ),
    Case(
        "required-after-optional",
        '<command name="stitch" code="diarbind">\n'
        '<parameter name="cover" code="covr" type="text" optional="yes"/>\n'
        '<parameter name="back" code="back" type="text"/></command>',
        "9: note: parameter back of stitch: is required, but follows an optional parameter."
        " IAC gives parameters by name, so their order does not matter.",
    ),
    Case(
        "empty-enumeration",
        '<command name="stitch" code="diarbind"><parameter name="cover" code="covr" type="cover"/>'
        '</command>\n<enumeration name="cover" code="covr"/>',
        "8: warning: enumeration cover: has no values. The tools accept any value for this type.",
    ),
    Case(
        "unreachable-class",
        '<class name="leaf" code="leaf"/>',
        "7: note: class leaf: cannot be reached from the application or a command. No"
        " reference leads to an object of this class.",
    ),
    Case(
        "unused-enumeration",
        '<enumeration name="mood" code="mood"><enumerator name="glad" code="glad"/></enumeration>',
        "7: note: enumeration mood: is not used as a type. No tool uses its values.",
    ),
    Case(
        "unused-record-type",
        '<record-type name="margins" code="marg"><property name="left" code="left" type="real"/>'
        "</record-type>",
        "7: note: record type margins: is not used as a type. No tool takes or returns such a"
        " record.",
    ),
    Case(
        "unused-value-type",
        '<value-type name="paper" code="papr"/>',
        "7: note: value type paper: is not used as a type. No tool takes or returns such a value.",
    ),
    Case(
        "invalid-code",
        '<command name="stitch" code="bind"/>',
        "7: error: suite Diary: command stitch has the code 'bind', not 8 characters. The"
        " code cannot be sent to an app, so the item is left out.",
    ),
    Case(
        "nameless",
        '<command code="diarbind"/>',
        "7: error: suite Diary: a command without a name is left out. An item without a name"
        " cannot be used, so it is left out.",
    ),
    Case(
        "stray-item",
        '<property name="body" code="body" type="text"/>',
        "7: error: suite Diary: <property> is no item of a suite and is left out. IAC ignores"
        " the item, so no tool uses it.",
    ),
    Case(
        "self-inheritance",
        '<class name="application" code="capp" inherits="application"/>',
        "7: note: class application: inherits from itself; taken as an extension. IAC adds"
        " its members to the class. Other programs may report a cycle.",
    ),
    Case(
        "missing-include",
        INCLUDE.format("Library/Leaves.sdef"),
        "7: warning: suite Diary: /Library/Leaves.sdef was not found; its terms are missing."
        " The tools lack the commands, classes and types of that file.",
    ),
    Case(
        "overload",
        '<command name="reread" code="diarrere"><direct-parameter type="text"/></command>',
        "7: note: command reread: is declared again; merged. One tool takes the parameters of"
        " both. The app decides which can be used together.",
    ),
    Case(
        "repeated",
        '<class name="entry" code="entr"/>',
        "7: note: class entry: is declared again; merged. IAC treats them as one.",
    ),
)
