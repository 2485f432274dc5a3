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
        "7: note: command read again: has the code 'diarrere' of command reread."
        " Both tools send the same event.",
    ),
    Case(
        "shared-code",
        '<class-extension extends="entry"><element type="leaf"/></class-extension>\n'
        '<class name="leaf" code="entr"/>',
        "8: note: class leaf: has the code 'entr' of class entry."
        " An object of one may come back under the name of the other.",
    ),
    Case(
        "several-codes",
        '<class-extension extends="application">\n'
        '<property name="body" code="bodi" type="text"/></class-extension>',
        "8: note: property body of application: has the code 'bodi', property body of entry has"
        " 'body'. A script that names the property may send the other code.",
    ),
    Case(
        "duplicate-code",
        '<class-extension extends="entry"><property name="mood" code="mood" type="mood"/>'
        "</class-extension>\n"
        '<enumeration name="mood" code="mood"><enumerator name="glad" code="glad"/>\n'
        '<enumerator name="happy" code="glad"/></enumeration>',
        "9: warning: enumerator happy of mood: has the code 'glad' of glad."
        " In a result, the two look the same.",
    ),
    Case(
        "duplicate-code",
        '<class-extension extends="entry">\n<property name="text" code="body" type="text"/>'
        "</class-extension>",
        "8: warning: property text of entry: has the code 'body' of body."
        " Both names read and set the same value.",
    ),
    Case(
        "duplicate-parameter",
        '<command name="stitch" code="diarbind"><parameter name="cover" code="covr" type="text"/>\n'
        '<parameter name="cover" code="kovr" type="text"/></command>',
        "8: warning: parameter cover of stitch: has the code 'kovr' and also 'covr'."
        " A script that uses the name sets only one.",
    ),
    Case(
        "duplicate-parameter",
        '<command name="stitch" code="diarbind"><parameter name="cover" code="covr" type="text"/>\n'
        '<parameter name="covers" code="covr" type="text"/></command>',
        "8: warning: parameter covers of stitch: has the code 'covr' of parameter cover."
        " For the app, both are the same; give only one.",
    ),
    Case(
        "synonym",
        '<command name="stitch" code="diarbind"><synonym code="bind"/></command>',
        "7: warning: command stitch: has a synonym with the code 'bind', not 8 characters."
        " An answer with this code is not recognised.",
    ),
    Case(
        "synonym",
        '<class-extension extends="application">\n<property name="mood" code="mood" type="text">'
        "<synonym/></property></class-extension>",
        "8: warning: property mood of application: has a synonym without name and code."
        " It says nothing.",
    ),
    Case(
        "member-clash",
        '<class-extension extends="application">\n'
        '<property name="entry" code="cent" type="entry"/></class-extension>',
        "8: warning: property entry of application: is the term of an element too."
        " The name alone means the property; the plural means the elements.",
    ),
    Case(
        "member-clash",
        '<class-extension extends="application">\n'
        '<property name="Entries" code="cent" type="text"/></class-extension>',
        "8: warning: property Entries of application: has the JavaScript name of the elements"
        " entry. One of the two cannot be reached in a reference.",
    ),
    Case(
        "type-clash",
        '<value-type name="entry" code="entv"/>',
        "7: warning: value type entry: has the name of class entry. As a type, it means class"
        " entry.",
    ),
    Case(
        "type-clash",
        '<class-extension extends="application"><element type="file"/></class-extension>\n'
        '<class name="file" code="file"/><value-type name="file" code="filv" hidden="yes"/>',
        "8: warning: value type file: has the name of class file. As a type, it means the simple"
        " type file.",
    ),
    Case(
        "command-clash",
        '<command name="body" code="diarbody"/>',
        "7: warning: command body: has the JavaScript name of property body of entry."
        " Only a Mac shows which of the two a script reaches.",
    ),
    Case(
        "identifier-clash",
        '<command name="Reread" code="diarRere"/>',
        "7: warning: command Reread: is reread in Python, as reread is."
        " The name of the later tool gets a number.",
    ),
    Case(
        "identifier-clash",
        '<command name="stitch" code="diarbind"><parameter name="New" code="new1" type="text"/>\n'
        '<parameter name="new" code="new2" type="text"/></command>',
        "8: warning: parameter new of stitch: is new in Python, as New is."
        " The name of the later one gets a number.",
    ),
    Case(
        "identifier-clash",
        '<class-extension extends="entry">\n<property name="Body" code="bod2" type="text"/>'
        "</class-extension>",
        "8: warning: property Body of entry: is body in JavaScript, as body is."
        " Only one of them can be reached in a reference.",
    ),
    Case(
        "python-keyword",
        '<command name="import" code="diarimpt"/>',
        "7: note: command import: is a Python keyword. In Python it is import_.",
    ),
    Case(
        "python-keyword",
        '<command name="stitch" code="diarbind"><parameter name="in" code="kfil" type="file"/>'
        "</command>",
        "7: note: parameter in of stitch: is a Python keyword. In Python it is in_.",
    ),
    Case(
        "javascript-member",
        '<class-extension extends="entry">\n<property name="length" code="leng" type="integer"/>'
        "</class-extension>",
        "8: warning: property length of entry: is length in JavaScript, which every object has."
        " In a reference, JavaScript's own member probably wins.",
    ),
    Case(
        "javascript-member",
        '<class-extension extends="entry"><element type="part"/></class-extension>\n'
        '<class name="part" code="part" plural="where"/>',
        "8: warning: class part: has the plural where, which every object has in JavaScript."
        " In a reference, JavaScript's own member probably wins.",
    ),
    Case(
        "javascript-member",
        '<command name="apply" code="diarappl"/>',
        "7: warning: command apply: is apply in JavaScript, which every function has."
        " In a reference, JavaScript's own member probably wins.",
    ),
    Case(
        "missing-plural",
        '<class-extension extends="entry"><element type="diary"/></class-extension>\n'
        '<class name="diary" code="diry"/>',
        "8: note: class diary: is contained by another class and declares no plural."
        " In a reference its objects are called diarys.",
    ),
    Case(
        "unverified-name",
        '<command name="read/write" code="diarrewr"/>',
        "7: note: command read/write: may not be read/write in JavaScript."
        " If it is not, a call with this name fails on a Mac.",
    ),
    Case(
        "hidden-characters",
        '<command name="stitch" code="diarbind" description="Binds \u202ereversed\u200b."/>',
        "7: warning: command stitch: has characters in its description that are not seen"
        " (U+200B, U+202E). They are removed; read the text without them.",
    ),
    Case(
        "undefined-type",
        '<command name="stitch" code="diarbind">'
        '<parameter name="cover" code="covr" type="leather"/>'
        '<parameter name="back" code="back" type="leather"/></command>',
        "7: warning: parameter cover of stitch: has the type leather, which is declared nowhere"
        " (2 places in all). Any value is accepted; no tool can say what is expected.",
    ),
    Case(
        "missing-type",
        '<command name="stitch" code="diarbind"><direct-parameter/></command>',
        "7: warning: direct parameter of stitch: declares no type."
        " Any value is accepted; no tool can say what is expected.",
    ),
    Case(
        "undefined-superclass",
        '<class-extension extends="entry"><element type="leaf"/></class-extension>\n'
        '<class name="leaf" code="leaf" inherits="plant"/>',
        "8: warning: class leaf: inherits from plant, which is declared nowhere."
        " Its inherited properties and elements are missing.",
    ),
    Case(
        "undefined-element",
        '<class-extension extends="entry">\n<element type="leaf"/></class-extension>',
        "8: warning: element leaf of entry: is of a class that is declared nowhere."
        " It cannot be listed or counted.",
    ),
    Case(
        "undefined-element",
        '<class-extension extends="entry">\n<element type="document"/></class-extension>',
        "8: warning: element document of entry: is of a class that is declared nowhere."
        " A class without properties takes its place.",
    ),
    Case(
        "undefined-extension",
        '<class-extension extends="leaf"/>',
        "7: warning: class leaf: is extended but declared nowhere."
        " Its properties and elements are left out.",
    ),
    Case(
        "unknown-command",
        '<class-extension extends="entry"><responds-to name="burn"/></class-extension>',
        "7: warning: class entry: responds to burn, which no command declares."
        " The name alone makes no tool.",
    ),
    Case(
        "required-after-optional",
        '<command name="stitch" code="diarbind">\n'
        '<parameter name="cover" code="covr" type="text" optional="yes"/>\n'
        '<parameter name="back" code="back" type="text"/></command>',
        "9: note: parameter back of stitch: is required and stands behind an optional one."
        " It is given by name, so its place does not matter.",
    ),
    Case(
        "empty-enumeration",
        '<command name="stitch" code="diarbind"><parameter name="cover" code="covr" type="cover"/>'
        '</command>\n<enumeration name="cover" code="covr"/>',
        "8: warning: enumeration cover: has no enumerators. Any value is accepted for it.",
    ),
    Case(
        "unreachable-class",
        '<class name="leaf" code="leaf"/>',
        "7: note: class leaf: cannot be reached from the application or a command."
        " No reference leads to an object of it.",
    ),
    Case(
        "unused-enumeration",
        '<enumeration name="mood" code="mood"><enumerator name="glad" code="glad"/></enumeration>',
        "7: note: enumeration mood: is the type of nothing. No tool offers its values.",
    ),
    Case(
        "unused-record-type",
        '<record-type name="margins" code="marg"><property name="left" code="left" type="real"/>'
        "</record-type>",
        "7: note: record type margins: is the type of nothing. No tool takes or returns it.",
    ),
    Case(
        "unused-value-type",
        '<value-type name="paper" code="papr"/>',
        "7: note: value type paper: is the type of nothing. No tool takes or returns it.",
    ),
    Case(
        "invalid-code",
        '<command name="stitch" code="bind"/>',
        "7: error: suite Diary: command stitch has the code 'bind', not 8 characters."
        " No event can carry it, so the item is left out.",
    ),
    Case(
        "nameless",
        '<command code="diarbind"/>',
        "7: error: suite Diary: a command without a name is left out."
        " It cannot be used, so it is left out.",
    ),
    Case(
        "stray-item",
        '<property name="body" code="body" type="text"/>',
        "7: error: suite Diary: <property> is no item of a suite and is left out."
        " It becomes no tool.",
    ),
    Case(
        "self-inheritance",
        '<class name="application" code="capp" inherits="application"/>',
        "7: note: class application: inherits from itself; taken as an extension."
        " Its members are added to the class; other readers may see a cycle.",
    ),
    Case(
        "missing-include",
        INCLUDE.format("Library/Leaves.sdef"),
        "7: warning: suite Diary: /Library/Leaves.sdef is not at hand; its terms are missing."
        " Commands, classes and types of that file are not among the tools.",
    ),
    Case(
        "overload",
        '<command name="reread" code="diarrere"><direct-parameter type="text"/></command>',
        "7: note: command reread: is declared again; merged."
        " One tool takes the parameters of both; the app decides which go together.",
    ),
    Case(
        "repeated",
        '<class name="entry" code="entr"/>',
        "7: note: class entry: is declared again; merged. There is one row for all of them.",
    ),
)
